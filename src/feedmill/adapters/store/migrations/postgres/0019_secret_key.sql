-- The id of the key that encrypts the secrets in this store; NULL: they are plain.
ALTER TABLE store_identity ADD COLUMN secret_key text;
