/* Records what a process writes, syncs and sends, in one total order (LD_PRELOAD).
 *
 * A record: kind, length of path, offset, length of data (little endian), path, data.
 *   W write   T truncate   S fsync or fdatasync   C create   R rename (data: the new path)
 *   U unlink  M mkdir      N bytes to a socket
 * Only files below POWER_CUT_ROOT are recorded. A change of a file is recorded after it was made, under
 * one lock; bytes to a socket before they are sent. So what was recorded before an `N` was done before
 * anybody could read those bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int out = -1;
static char root[4096];
static size_t root_len;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

__attribute__((constructor)) static void begin(void) {
  const char *log = getenv("POWER_CUT_LOG"), *wanted = getenv("POWER_CUT_ROOT");
  if (!log || !wanted || strlen(wanted) >= sizeof root) return;
  strcpy(root, wanted);
  root_len = strlen(root);
  out = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void record(char kind, const char *path, uint64_t offset, const struct iovec *data, int count) {
  uint16_t path_len = strlen(path);
  uint32_t data_len = 0;
  for (int i = 0; i < count; i++) data_len += data[i].iov_len;
  char head[15];
  head[0] = kind;
  memcpy(head + 1, &path_len, 2);
  memcpy(head + 3, &offset, 8);
  memcpy(head + 11, &data_len, 4);
  struct iovec parts[2 + 1024] = {{head, sizeof head}, {(void *)path, path_len}};
  for (int i = 0; i < count && i < 1024; i++) parts[2 + i] = data[i];
  if (syscall(SYS_writev, out, parts, 2 + count) < 0) abort();
}

/* 1: a file to record, 2: a socket, 0: neither. */
static int kind_of(int fd, char *path) {
  if (out < 0) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, 4095);
  if (size < 0) return 0;
  path[size] = 0;
  if (!strncmp(path, "socket:", 7)) return 2;
  return !strncmp(path, root, root_len);
}

static int is_inside(const char *path, char *whole) {
  if (out < 0) return 0;
  if (path[0] == '/') {
    snprintf(whole, 4096, "%s", path);
  } else {
    char here[2048];
    if (!getcwd(here, sizeof here)) return 0;
    snprintf(whole, 4096, "%s/%s", here, path);
  }
  return !strncmp(whole, root, root_len);
}

static ssize_t wrote(int fd, const char *path, off_t offset, const struct iovec *data, int count, ssize_t size) {
  if (size <= 0) return size;
  if (offset < 0) offset = syscall(SYS_lseek, fd, 0, SEEK_CUR) - size;
  struct iovec parts[1024];
  int used = 0;
  size_t left = size;
  for (int i = 0; i < count && left; i++, used++) {
    parts[used] = data[i];
    if (parts[used].iov_len > left) parts[used].iov_len = left;
    left -= parts[used].iov_len;
  }
  record('W', path, offset, parts, used);
  return size;
}

static ssize_t write_parts(int fd, const struct iovec *data, int count, off_t offset) {
  char path[4096];
  int kind = kind_of(fd, path);
  ssize_t size;
  if (kind != 0) pthread_mutex_lock(&lock);
  if (kind == 2) {
    record('N', path, 0, data, count);
    pthread_mutex_unlock(&lock);
  }
  if (offset < 0)
    size = syscall(SYS_writev, fd, data, count);
  else
    size = syscall(SYS_pwritev, fd, data, count, offset, 0);
  if (kind == 1) {
    int saved = errno;
    wrote(fd, path, offset, data, count, size);
    pthread_mutex_unlock(&lock);
    errno = saved;
  }
  return size;
}

ssize_t write(int fd, const void *data, size_t size) {
  struct iovec part = {(void *)data, size};
  return write_parts(fd, &part, 1, -1);
}
ssize_t writev(int fd, const struct iovec *data, int count) { return write_parts(fd, data, count, -1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  struct iovec part = {(void *)data, size};
  return write_parts(fd, &part, 1, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return pwrite(fd, data, size, offset); }
ssize_t pwritev(int fd, const struct iovec *data, int count, off_t offset) { return write_parts(fd, data, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *data, int count, off64_t offset) { return write_parts(fd, data, count, offset); }

static void sends(int fd, const struct iovec *data, int count) {
  char path[4096];
  if (kind_of(fd, path) != 2) return;
  pthread_mutex_lock(&lock);
  record('N', path, 0, data, count);
  pthread_mutex_unlock(&lock);
}
ssize_t send(int fd, const void *data, size_t size, int flags) {
  struct iovec part = {(void *)data, size};
  sends(fd, &part, 1);
  return REAL(send)(fd, data, size, flags);
}
ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t len) {
  struct iovec part = {(void *)data, size};
  sends(fd, &part, 1);
  return REAL(sendto)(fd, data, size, flags, to, len);
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  sends(fd, message->msg_iov, message->msg_iovlen);
  return REAL(sendmsg)(fd, message, flags);
}

static int sync_fd(int fd, long number) {
  char path[4096];
  int kind = kind_of(fd, path);
  if (kind == 1) pthread_mutex_lock(&lock);
  int done = syscall(number, fd);
  if (kind == 1) {
    if (!done) record('S', path, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
  }
  return done;
}
int fsync(int fd) { return sync_fd(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_fd(fd, SYS_fdatasync); }

int ftruncate(int fd, off_t size) {
  char path[4096];
  int kind = kind_of(fd, path);
  if (kind == 1) pthread_mutex_lock(&lock);
  int done = syscall(SYS_ftruncate, fd, size);
  if (kind == 1) {
    if (!done) record('T', path, size, NULL, 0);
    pthread_mutex_unlock(&lock);
  }
  return done;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

static int open_at(int folder, const char *path, int flags, mode_t mode) {
  char whole[4096];
  int inside = (flags & (O_CREAT | O_TRUNC)) && folder == AT_FDCWD && is_inside(path, whole);
  if (!inside) return syscall(SYS_openat, folder, path, flags, mode);
  pthread_mutex_lock(&lock);
  int existed = syscall(SYS_faccessat, AT_FDCWD, whole, F_OK) == 0;
  int fd = syscall(SYS_openat, folder, path, flags, mode);
  int saved = errno;
  if (fd >= 0 && !existed) record('C', whole, 0, NULL, 0);
  if (fd >= 0 && existed && (flags & O_TRUNC)) record('T', whole, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = saved;
  return fd;
}
#define MODE(flags) ({ mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, int); va_end(more); } mode; })
int open(const char *path, int flags, ...) { return open_at(AT_FDCWD, path, flags, MODE(flags)); }
int open64(const char *path, int flags, ...) { return open_at(AT_FDCWD, path, flags | O_LARGEFILE, MODE(flags)); }
int openat(int folder, const char *path, int flags, ...) { return open_at(folder, path, flags, MODE(flags)); }
int openat64(int folder, const char *path, int flags, ...) { return open_at(folder, path, flags | O_LARGEFILE, MODE(flags)); }

#define NAMED(kind, path, call, other)                        \
  char whole[4096];                                           \
  if (!is_inside(path, whole)) return call;                   \
  pthread_mutex_lock(&lock);                                  \
  int done = call, saved = errno;                             \
  struct iovec data = {(void *)(other), strlen(other)};       \
  if (!done) record(kind, whole, 0, &data, data.iov_len > 0); \
  pthread_mutex_unlock(&lock);                                \
  errno = saved;                                              \
  return done;

int rename(const char *from, const char *to) {
  char target[4096];
  if (!is_inside(to, target)) target[0] = 0;
  NAMED('R', from, syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to), target)
}
int unlink(const char *path) { NAMED('U', path, syscall(SYS_unlinkat, AT_FDCWD, path, 0), "") }
int mkdir(const char *path, mode_t mode) { NAMED('M', path, syscall(SYS_mkdirat, AT_FDCWD, path, mode), "") }
