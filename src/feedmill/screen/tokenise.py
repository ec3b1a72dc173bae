"""Tokenises text in any script: words, and pairs of characters where no space parts words.

Pairs of characters find Chinese terms as well as a segmenter does and need no dictionary. Every
script gives terms: a tokeniser that knows only Latin makes all other texts equal. Lexical scoring
compares characters, so 綠色設計 and 绿色设计 must be the same word: traditional characters become
simplified ones. One that stands for several simplified ones is left to the most frequent one.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Han, kana, Hangul and Thai are written without spaces, or with few.
_CLOSE: Final = (
    r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE: Final = re.compile(rf"[{_CLOSE}]+|[^\W_{_CLOSE}]+")
_FIRST_CLOSE: Final = re.compile(rf"[{_CLOSE}]")
_SHORTEST_PLURAL: Final = 4

_EMPTY: Final = frozenset(
    """
    a about after all also an and any are as at be been between both but by can could do does for
    from had has have how if in into is it its may more most new no not of on one only or other our
    out over per said same say says she so some such than that the their them then there these they
    this those through to two under up use used using was we were what when where which while who
    why will with would year years you your
    的 了 和 与 在 是 为 对 从 到 等 及 或 被 将 也 都 其 该 这 那 一 不 有 中 上 下 以 于 并
    研究 分析 基于 方法 影响 如何 进行 通过 可以 我国 中国 一个 成为 以及 公司 企业 发布 提出
    """.split()  # noqa: SIM905  # one word in quotes each would be four pages
)
_TRADITIONAL: Final = (
    "這個們來說時會對過還後發國學種現開從問體經進動長機電實點業關兩應將與間無產題報總務證設計"
    "環評價質綠給運輸廢處週壽當壓東氣煙塵減協統籌規劃節約資鏈廠購採標準認貿買賣錢銀貨幣財稅費"
    "額戶農漁礦鋼鐵銅鋁鋰鎳鈷錳鋅鉛錫貴屬鎢鈦餘棄燒爐煉鍋輪風場陽儲網線纜變負載頻調離島嶼側並"
    "議書據憑換競響責擴張佔領導師歷傳義聯組織構築牆樓層廳門塊圖樣紙製維護復裝備損壞檢測驗視聽"
    "覺顯螢軟腦絡數庫樹龍鳳鳥魚馬豬雞貓獵獸類蟲葉蘭蘋麥餵養營葯藥醫療衛險論壇話語詞詩畫筆劇戲"
    "藝術樂團隊員選舉黨審決獄罰訴訟條則範圍內邊遠鄰際區縣鄉鎮莊廣園灣濱灘潔淨濁漲淺滅災溫濕濾"
    "滲溝滯瀉濃氫氬鹼鹽鹵礬達億萬歲齡紀錄曆僅眾優傷儀偵債傾償勞勢勝勵勻單參雙號吳嗎啟嚴圓聖壘"
    "墊奪奮婦媽孫寧寶寫寬尋屆岡帳帶幹強彈彙徑徵憂懷態慣戰擁擇擊擋攝敵斷晉曉暫曬樞橋檔權歐歡歸"
    "殘殺殼況沖沒淚湯滾漸潛澤濟濤為熱燈爭爺牽狀狹獎獨獲畢異疊瘋癢盜監盤睏矯碼確礎礙祿禍禮稱穀"
    "積穩窮竄簡簽籃糧糾紅純級細終結絕絲綜緊緩編練縮績繞繪繫繼續罷羅羨習聞聰聲職肅脅脈腳腫膚膠"
    "臉臨舊艙艦艱蒼蓋蓮薦藍蘇虛虧蝕蠻衝補裡複襲見覽觀觸訂討訓託記訪許診試該詳誇誌誘誠誤誰課談"
    "請諮諾謀謂講謝謹識譜譯譽讀讓豐貝貢貧販貪貫貸貼賓賞賠賢賴賺贈贊趕趙跡踐蹤躍車軌軍軒較輔輕"
    "輝輯轉辦辭迴連遊違遞適遲遺郵鄭醜釀釋鈔針釣鈣鈴鉅銷鋒錯鍵鎖鏡鐘閃閉閒閱闊闖陣陰陳陸階隨隱"
    "隻雖雜難雲霧靈靜頁頂項順須預頓頭顏願顧飛飯飲飾館駐駕騎騙驅驚髒鬆鬥鬧鮮鳴鴨鷹麗黃齊齒龐龜"
)
_SIMPLIFIED: Final = (
    "这个们来说时会对过还后发国学种现开从问体经进动长机电实点业关两应将与间无产题报总务证设计"
    "环评价质绿给运输废处周寿当压东气烟尘减协统筹规划节约资链厂购采标准认贸买卖钱银货币财税费"
    "额户农渔矿钢铁铜铝锂镍钴锰锌铅锡贵属钨钛余弃烧炉炼锅轮风场阳储网线缆变负载频调离岛屿侧并"
    "议书据凭换竞响责扩张占领导师历传义联组织构筑墙楼层厅门块图样纸制维护复装备损坏检测验视听"
    "觉显萤软脑络数库树龙凤鸟鱼马猪鸡猫猎兽类虫叶兰苹麦喂养营药药医疗卫险论坛话语词诗画笔剧戏"
    "艺术乐团队员选举党审决狱罚诉讼条则范围内边远邻际区县乡镇庄广园湾滨滩洁净浊涨浅灭灾温湿滤"
    "渗沟滞泻浓氢氩碱盐卤矾达亿万岁龄纪录历仅众优伤仪侦债倾偿劳势胜励匀单参双号吴吗启严圆圣垒"
    "垫夺奋妇妈孙宁宝写宽寻届冈帐带干强弹汇径征忧怀态惯战拥择击挡摄敌断晋晓暂晒枢桥档权欧欢归"
    "残杀壳况冲没泪汤滚渐潜泽济涛为热灯争爷牵状狭奖独获毕异叠疯痒盗监盘困矫码确础碍禄祸礼称谷"
    "积稳穷窜简签篮粮纠红纯级细终结绝丝综紧缓编练缩绩绕绘系继续罢罗羡习闻聪声职肃胁脉脚肿肤胶"
    "脸临旧舱舰艰苍盖莲荐蓝苏虚亏蚀蛮冲补里复袭见览观触订讨训托记访许诊试该详夸志诱诚误谁课谈"
    "请咨诺谋谓讲谢谨识谱译誉读让丰贝贡贫贩贪贯贷贴宾赏赔贤赖赚赠赞赶赵迹践踪跃车轨军轩较辅轻"
    "辉辑转办辞回连游违递适迟遗邮郑丑酿释钞针钓钙铃巨销锋错键锁镜钟闪闭闲阅阔闯阵阴陈陆阶随隐"
    "只虽杂难云雾灵静页顶项顺须预顿头颜愿顾飞饭饮饰馆驻驾骑骗驱惊脏松斗闹鲜鸣鸭鹰丽黄齐齿庞龟"
)
_TABLE: Final = str.maketrans(_TRADITIONAL, _SIMPLIFIED)


def tokenise(text: str) -> list[str]:
    """Every term of a text in its order, repeated as often as it stands there."""
    return [term for term, _, _ in tokenise_with_positions(text)[1]]


def tokenise_with_positions(text: str) -> tuple[str, list[tuple[str, int, int]]]:
    """The text with its case and characters folded, and where in it each term stands."""
    folded = to_simplified_chinese(unicodedata.normalize("NFKC", text).casefold())
    found: list[tuple[str, int, int]] = []
    for piece in _PIECE.finditer(folded):
        word, start = piece.group(), piece.start()
        if _FIRST_CLOSE.match(word):
            found += _pairs(word, start)
        elif word not in _EMPTY and len(word) > 1:
            found.append((_stem(word), start, piece.end()))
    return folded, found


def to_simplified_chinese(text: str) -> str:
    """Text with traditional characters in their simplified form."""
    return text.translate(_TABLE)


def _pairs(piece: str, start: int) -> list[tuple[str, int, int]]:
    width = min(len(piece), 2)
    places = range(len(piece) - width + 1)
    pairs = ((piece[at : at + width], start + at, start + at + width) for at in places)
    return [pair for pair in pairs if pair[0] not in _EMPTY]


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """A word without the endings that English adds most: enough to join emission and emissions."""
    if word.endswith("ies") and len(word) > _SHORTEST_PLURAL:
        return word[:-3] + "y"
    for ending, instead in (("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_PLURAL:
            return _bare(word[: -len(ending)] + instead)
    return _bare(word)


def _bare(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_PLURAL else word
