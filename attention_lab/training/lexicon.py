"""The phrasebook's words: English forms, Chinese, and what grammar asks for (measure words)."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """A word by its named forms; "en" and "zh" are the plain ones."""

    forms: dict[str, str]

    def __getitem__(self, form: str) -> str:
        return self.forms[form]


IRREGULAR = {
    "mouse": "mice", "sheep": "sheep", "fish": "fish", "man": "men", "woman": "women",
    "child": "children", "wolf": "wolves", "policeman": "policemen", "knife": "knives",
    "deer": "deer", "old man": "old men", "goose": "geese", "thief": "thieves",
    "tomato": "tomatoes",
}  # fmt: skip


def plural(noun: str) -> str:
    """The plural of an English noun.

    >>> plural("fox"), plural("mouse"), plural("butterfly"), plural("boy")
    ('foxes', 'mice', 'butterflies', 'boys')
    """
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def _rows(table: str) -> Iterator[list[str]]:
    for row in table.replace("\n", ";").split(";"):
        if row.strip():
            yield [cell.strip() for cell in row.split(",")]


def _nouns(table: str) -> list[Word]:
    """Rows of English, Chinese, measure word."""
    return [
        Word(
            {
                "en": en,
                "a": ("an " if en[0] in "aeiou" else "a ") + en,
                "many": plural(en),
                "zh": zh,
                "m": measure,
            }
        )
        for en, zh, measure in _rows(table)
    ]


def _forms(table: str, *names: str) -> list[Word]:
    """Rows of forms; without names, English and Chinese."""
    return [Word(dict(zip(names or ("en", "zh"), row, strict=True))) for row in _rows(table)]


ANIMALS = _nouns("""
cat,猫,只; dog,狗,只; mouse,老鼠,只; rabbit,兔子,只; bird,鸟,只; horse,马,匹; cow,牛,头; pig,猪,头
duck,鸭子,只; sheep,羊,只; chicken,鸡,只; lion,狮子,头; tiger,老虎,只; bear,熊,头; wolf,狼,只
fox,狐狸,只; monkey,猴子,只; elephant,大象,头; snake,蛇,条; fish,鱼,条; frog,青蛙,只
turtle,乌龟,只; panda,熊猫,只; squirrel,松鼠,只; goat,山羊,只; animal,动物,只; puppy,小狗,只
kitten,小猫,只; penguin,企鹅,只; spider,蜘蛛,只; butterfly,蝴蝶,只; deer,鹿,头; camel,骆驼,头
donkey,驴,头; goose,鹅,只; crocodile,鳄鱼,条; parrot,鹦鹉,只; bee,蜜蜂,只
""")
PEOPLE = _nouns("""
boy,男孩,个; girl,女孩,个; man,男人,个; woman,女人,个; teacher,老师,个; student,学生,个
doctor,医生,个; child,孩子,个; farmer,农民,个; policeman,警察,个; nurse,护士,个; king,国王,个
painter,画家,个; cook,厨师,个; driver,司机,个; soldier,士兵,个; singer,歌手,个; baby,婴儿,个
lawyer,律师,个; writer,作家,个; old man,老人,个; neighbor,邻居,个; engineer,工程师,个
thief,小偷,个
""")
THINGS = _nouns("""
book,书,本; letter,信,封; flower,花,朵; ball,球,个; cup,杯子,个; key,钥匙,把; hat,帽子,顶
watch,手表,块; picture,画,幅; newspaper,报纸,份; umbrella,雨伞,把; ticket,票,张; phone,手机,部
computer,电脑,台; chair,椅子,把; table,桌子,张; pen,笔,支; bag,包,个; toy,玩具,个; camera,相机,台
map,地图,张; box,盒子,个; car,车,辆; bike,自行车,辆; shirt,衬衫,件; coat,大衣,件; bottle,瓶子,个
knife,刀,把; guitar,吉他,把; lamp,灯,盏; dictionary,词典,本; suitcase,手提箱,个; present,礼物,份
""")
FOODS = _nouns("""
apple,苹果,个; cake,蛋糕,块; banana,香蕉,根; egg,鸡蛋,个; orange,橙子,个; cookie,饼干,块
pear,梨,个; tomato,西红柿,个; sandwich,三明治,个; hamburger,汉堡包,个
""")
MASS = _forms(
    """
coffee,咖啡; tea,茶; milk,牛奶; water,水; beer,啤酒; juice,果汁
"""
)
NAMES = _forms(
    """
Tom,汤姆,he,他; Mary,玛丽,she,她; John,约翰,he,他; Anna,安娜,she,她; Peter,彼得,he,他
Lucy,露西,she,她; Jack,杰克,he,他; Alice,爱丽丝,she,她; Bob,鲍勃,he,他; Emma,艾玛,she,她
David,大卫,he,他; Jane,简,she,她; Mike,迈克,he,他; Lily,莉莉,she,她; Paul,保罗,he,他
""",
    "en",
    "zh",
    "he",
    "ta",
)
FAMILY = _forms(
    """
My mother,我妈妈,she,她; My father,我爸爸,he,他; My brother,我哥哥,he,他; My sister,我姐姐,she,她
My friend,我的朋友,he,他; The teacher,老师,she,她; The boy,男孩,he,他; The girl,女孩,she,她
The man,男人,he,他; The woman,女人,she,她; The doctor,医生,he,他; The student,学生,he,他
The old man,老人,he,他; The child,孩子,he,他; He,他,he,他; She,她,she,她
""",
    "en",
    "zh",
    "he",
    "ta",
)
THIRD = [*NAMES, *FAMILY]  # subjects with "is", "has", "wants"
# Subjects with "are", "have", "want"; I goes with "am".
PLURAL_SUBJECTS = _forms("We,我们,are; They,他们,are; You,你,are; I,我,am", "en", "zh", "be")
OBJECTS = _forms("me,我; him,他; her,她; us,我们; them,他们; you,你")

# What one living being does to another: base, third person, past, -ing, Chinese, Chinese past.
DEEDS = _forms(
    """
chase,chases,chased,chasing,追,追; see,sees,saw,seeing,看见,看见了
catch,catches,caught,catching,抓住,抓住了; bite,bites,bit,biting,咬,咬了
hear,hears,heard,hearing,听见,听见了; find,finds,found,finding,找到,找到了
follow,follows,followed,following,跟着,跟着; help,helps,helped,helping,帮助,帮助了
attack,attacks,attacked,attacking,攻击,攻击了; push,pushes,pushed,pushing,推,推了
kick,kicks,kicked,kicking,踢,踢了; save,saves,saved,saving,救,救了
watch,watches,watched,watching,看着,看着; wash,washes,washed,washing,洗,洗了
draw,draws,drew,drawing,画,画了; feed,feeds,fed,feeding,喂,喂了
""",
    "en", "s", "ed", "ing", "zh", "le",
)  # fmt: skip
ONGOING = [
    verb
    for verb in DEEDS
    if verb["zh"] in ("追", "咬", "帮助", "攻击", "推", "踢", "洗", "画", "喂")
]
BEASTLY = [verb for verb in DEEDS if verb["zh"] not in ("洗", "画", "喂")]
FEELINGS = _forms("like,likes,喜欢; love,loves,爱; hate,hates,讨厌", "en", "s", "zh")
HANDLING = _forms(
    """
buy,buys,bought,buying,买,买了; lose,loses,lost,losing,弄丢,弄丢了
find,finds,found,finding,找到,找到了; break,breaks,broke,breaking,弄坏,弄坏了
sell,sells,sold,selling,卖,卖了; see,sees,saw,seeing,看见,看见了
steal,steals,stole,stealing,偷,偷了; use,uses,used,using,用,用了
take,takes,took,taking,拿走,拿走了; forget,forgets,forgot,forgetting,忘记,忘记了
hide,hides,hid,hiding,藏,藏了; touch,touches,touched,touching,碰,碰了
bring,brings,brought,bringing,带来,带来了
""",
    "en", "s", "ed", "ing", "zh", "le",
)  # fmt: skip
GIVING = _forms(
    """
gave,给了; sent,寄给了; sold,卖给了; lent,借给了; handed,递给了
"""
)
ACTIVITIES = _forms(
    """
swim,swims,swimming,游泳; run,runs,running,跑步; sing,sings,singing,唱歌
dance,dances,dancing,跳舞; read,reads,reading,看书; cook,cooks,cooking,做饭
sleep,sleeps,sleeping,睡觉; draw,draws,drawing,画画; work,works,working,工作
play football,plays football,playing football,踢足球; watch TV,watches TV,watching TV,看电视
drink coffee,drinks coffee,drinking coffee,喝咖啡; drink tea,drinks tea,drinking tea,喝茶
eat apples,eats apples,eating apples,吃苹果; study English,studies English,studying English,学英语
study Chinese,studies Chinese,studying Chinese,学中文
listen to music,listens to music,listening to music,听音乐
play the piano,plays the piano,playing the piano,弹钢琴
ride a bike,rides a bike,riding a bike,骑自行车; drink milk,drinks milk,drinking milk,喝牛奶
eat breakfast,eats breakfast,eating breakfast,吃早饭; play chess,plays chess,playing chess,下棋
play in the park,plays in the park,playing in the park,在公园里玩
read the newspaper,reads the newspaper,reading the newspaper,看报纸
""",
    "en", "s", "ing", "zh",
)  # fmt: skip
RESTING = _forms(
    "sleeping,睡觉; playing,玩; eating,吃东西; hiding,躲着; sitting,坐着; drinking water,喝水"
)
SPOTS = _forms(
    """
in the garden,花园里; in the kitchen,厨房里; in the park,公园里; in the room,房间里
in the forest,森林里; in the water,水里; in the box,盒子里; on the roof,屋顶上
on the chair,椅子上; under the table,桌子底下; under the bed,床底下; under the tree,树下
behind the door,门后面; behind the house,房子后面; in front of the school,学校前面
next to the tree,树旁边; on the bed,床上; on the grass,草地上; in the street,街上
in the house,房子里; on the sofa,沙发上; by the river,河边; at the station,车站
"""
)
SURFACES = _forms(
    """
on the table,桌子上; in the bag,包里; in the box,盒子里; under the bed,床底下; on the chair,椅子上
behind the door,门后面; in the car,车里; on the desk,书桌上; in the kitchen,厨房里
on the floor,地板上
"""
)
GOALS = _forms(
    """
to the park,公园; to the station,车站; to school,学校; to the library,图书馆; to the hospital,医院
to the market,市场; to the zoo,动物园; to the bank,银行; to the beach,海滩; to Beijing,北京
to China,中国; to the supermarket,超市; to the museum,博物馆; to London,伦敦
to the restaurant,餐厅
"""
)
INTO = _forms(
    """
into the forest,进了森林; into the house,进了房子; into the garden,进了花园
into the room,进了房间; into the water,进了水里; across the street,过了马路
"""
)
CROSSED = _forms("street,马路; road,马路; river,河; bridge,桥")
STATES = _forms(
    """
tired,累; hungry,饿; thirsty,渴; happy,高兴; sad,伤心; angry,生气; sleepy,困; busy,忙
"""
)
TRAITS = _forms(
    """
big,大,bigger; small,小,smaller; strong,强壮,stronger; lazy,懒,lazier; smart,聪明,smarter
fast,快,faster; slow,慢,slower; fat,胖,fatter; tall,高,taller; quiet,安静,quieter
dangerous,危险,more dangerous; beautiful,漂亮,more beautiful; clever,聪明,cleverer
heavy,重,heavier; old,老,older; young,年轻,younger
""",
    "en",
    "zh",
    "er",
)
SIZES = _forms("big,大; small,小; little,小; white,白; black,黑; old,老; fat,胖")
QUALITIES = _forms(
    """
big,大; small,小; heavy,重; expensive,贵; cheap,便宜; beautiful,漂亮; new,新; old,旧; light,轻
dirty,脏; clean,干净
"""
)
TOO_TIRED = _forms(
    "tired,累; old,老; slow,慢; small,小; weak,虚弱; sleepy,困; lazy,懒; hungry,饿; scared,害怕"
)
TOO_WIDE = _forms(
    "wide,宽; dangerous,危险; dirty,脏; long,长; noisy,吵; dark,黑; crowded,拥挤; slippery,滑"
)
COLOURS = _forms(
    """
red,红色; blue,蓝色; green,绿色; yellow,黄色; white,白色; black,黑色; brown,棕色; gray,灰色
pink,粉色
"""
)
NUMBERS = _forms(
    """
two,两; three,三; four,四; five,五; six,六; seven,七; eight,八; nine,九; ten,十; twelve,十二
twenty,二十
"""
)
TIMES = _forms(
    "yesterday,昨天; today,今天; last week,上周; this morning,今天早上; last night,昨晚", "en", "zh"
)
LATER = _forms(
    """
tomorrow,明天; today,今天; next week,下周; tonight,今晚; on Sunday,星期天
tomorrow morning,明天早上
"""
)
ALWAYS = _forms(
    """
every day,每天; every morning,每天早上; every evening,每天晚上; at night,晚上; on Sundays,星期天
"""
)
LIVING = [*ANIMALS, *PEOPLE]
TRADES = [word for word in PEOPLE if word["en"] not in ("child", "baby", "neighbor")]
