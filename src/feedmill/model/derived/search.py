"""A search as values: what must and must not stand in an entry, and where it was found.

Traditional Chinese characters and their simplified forms, so that 綠色設計 and 绿色设计 are the same word.
"""
# Tested in tests/unit/search/
# Tested in tests/unit/screen/test_bm25.py

from typing import Final

from feedmill.model.base import Value

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
TO_SIMPLIFIED: Final = str.maketrans(_TRADITIONAL, _SIMPLIFIED)


class Term(Value):
    """Tokens that stand side by side; with `prefix` the last one is the beginning of a token."""

    tokens: tuple[str, ...]
    prefix: bool = False

    @property
    def needle(self) -> str:
        """The term as it stands in an indexed text, where every token has a space on both sides."""
        return f" {' '.join(self.tokens)}" + ("" if self.prefix else " ")


class Clause(Value):
    """Alternatives of which one has to be there: spellings of the same word."""

    terms: tuple[Term, ...]


class SearchQuery(Value):
    """What an entry has to hold, and what it must not hold."""

    text: str  # as it was asked
    required: tuple[Clause, ...]
    excluded: tuple[Term, ...] = ()
    full_texts: bool = False  # also in the extracted texts of web pages


class Fragment(Value):
    """A piece of plain text; `match` where the search found it."""

    text: str
    match: bool = False


class Highlight(Value):
    """Title and an excerpt of the text as plain text, cut where matches begin and end."""

    title: tuple[Fragment, ...] = ()
    excerpt: tuple[Fragment, ...] = ()


def to_simplified_chinese(text: str) -> str:
    """Text with traditional characters in their simplified form."""
    return text.translate(TO_SIMPLIFIED)
