"""The phrasebook's templates: English, Chinese, what may stand in each slot, how many to draw."""

from attention_lab.training.lexicon import (
    ACTIVITIES,
    ALWAYS,
    ANIMALS,
    BEASTLY,
    COLOURS,
    CROSSED,
    DEEDS,
    FAMILY,
    FEELINGS,
    FOODS,
    GIVING,
    GOALS,
    HANDLING,
    INTO,
    LATER,
    LIVING,
    MASS,
    NAMES,
    NUMBERS,
    OBJECTS,
    ONGOING,
    PEOPLE,
    PLURAL_SUBJECTS,
    QUALITIES,
    RESTING,
    SIZES,
    SPOTS,
    STATES,
    SURFACES,
    THINGS,
    THIRD,
    TIMES,
    TOO_TIRED,
    TOO_WIDE,
    TRAITS,
    Word,
)

Slots = dict[str, list[Word]]
TEMPLATES: list[tuple[str, str, Slots, int]] = []


def _add(english: str, chinese: str, n: int, /, **slots: list[Word]) -> None:
    TEMPLATES.append((english, chinese, slots, n))


# Who does what to whom.
_WHO: Slots = {"a": LIVING, "b": LIVING}
_BEASTS: Slots = {"a": ANIMALS, "b": LIVING}
_add("The {a} {v.ed} the {b}.", "{a}{v.le}{b}。", 169, v=BEASTLY, **_BEASTS)
_add("The {a} {v.ed} the {b}.", "{a}{v.le}{b}。", 104, v=DEEDS, a=PEOPLE, b=LIVING)
_add("{a.a} {v.ed} {b.a}.", "一{a.m}{a}{v.le}一{b.m}{b}。", 46, v=BEASTLY, **_BEASTS)
_add("The {a} {v.ed} {b.a}.", "{a}{v.le}一{b.m}{b}。", 46, v=DEEDS, a=PEOPLE, b=LIVING)
_add("The {a} is {v.ing} the {b}.", "{a}正在{v}{b}。", 72, v=ONGOING, **_WHO)
_add("The {a} didn't {v} the {b}.", "{a}没有{v}{b}。", 72, v=BEASTLY, **_WHO)
_add("Did the {a} {v} the {b}?", "{a}{v.le}{b}吗？", 58, v=BEASTLY, **_WHO)
_add("<Who>1 {v.ed} the {b}?", "<谁>1{v.le}{b}？", 39, v=DEEDS, b=LIVING)
_add("<Why>1 did the {a} {v} the {b}?", "{a}<为什么>1{v}{b}？", 32, v=BEASTLY, **_WHO)
_add("The {a} {f.s} the {b}.", "{a}{f}{b}。", 52, f=FEELINGS, **_WHO)
_add("The {a} doesn't <like>1 the {b}.", "{a}不<喜欢>1{b}。", 32, **_WHO)
_add("Does the {a} <like>1 the {b}?", "{a}<喜欢>1{b}吗？", 26, **_WHO)
_add("The {a} is <afraid>1 of the {b}.", "{a}<害怕>1{b}。", 39, **_WHO)
_add(
    "The {j} {a} {v.ed} the {k} {b}.",
    "{j}{a}{v.le}{k}{b}。",
    104,
    v=BEASTLY,
    j=SIZES,
    k=SIZES,
    a=ANIMALS[:34],
    b=ANIMALS[:34],
)
_add("{n} {v.ed} the {b}.", "{n}{v.le}{b}。", 78, n=THIRD, v=DEEDS, b=LIVING)
_add("{n} {v.ed} {m}.", "{n}{v.le}{m}。", 52, n=NAMES, v=DEEDS, m=[*NAMES, *OBJECTS])
_add(
    "I {v.ed} {b.a} {t}.",
    "我{t}{v.le}一{b.m}{b}。",
    39,
    v=[verb for verb in DEEDS if verb["zh"] in ("看见", "救", "抓住", "画", "喂")],
    b=LIVING,
    t=TIMES,
)
_add(
    "{n}'s {a} bit {m}'s {b}.",
    "{n}的{a}咬了{m}的{b}。",
    32,
    n=NAMES,
    m=NAMES,
    a=ANIMALS[:6],
    b=ANIMALS[:14],
)
_add("The {p}'s {a} is {s}.", "{p}的{a}在{s}。", 32, p=PEOPLE, a=ANIMALS[:14], s=SPOTS)

# Giving and having.
_add(
    "The {p} {g} the {q} {t.a}.",
    "{p}{g}{q}一{t.m}{t}。",
    110,
    p=PEOPLE,
    q=PEOPLE,
    g=GIVING,
    t=[*THINGS, *FOODS],
)
_add(
    "The {p} {g} {t.a} to the {q}.",
    "{p}{g}{q}一{t.m}{t}。",
    58,
    p=PEOPLE,
    q=PEOPLE,
    g=GIVING,
    t=THINGS,
)
_add(
    "{n} {g} {m} {t.a}.",
    "{n}{g}{m}一{t.m}{t}。",
    78,
    n=THIRD,
    m=[*NAMES, *OBJECTS],
    g=GIVING,
    t=[*THINGS, *FOODS],
)
_add("{n} gave the {t} to {m}.", "{n}把{t}给了{m}。", 39, n=NAMES, m=NAMES, t=THINGS)
_add(
    "{n} gave {m} a {c} {t}.",
    "{n}给了{m}一{t.m}{c}的{t}。",
    39,
    n=THIRD,
    m=[*NAMES, *OBJECTS],
    c=COLOURS,
    t=[*THINGS, *FOODS[:2]],
)
_add(
    "The {p} gave the {q} a {c} {t}.",
    "{p}给了{q}一{t.m}{c}的{t}。",
    39,
    p=PEOPLE,
    q=PEOPLE,
    c=COLOURS,
    t=[*THINGS, *FOODS[:2]],
)
_add("Please <give>1 me the {t}.", "请把{t}<给>1我。", 20, t=[*THINGS, *FOODS])
_add("{n} has {k} {a.many}.", "{n}有{k}{a.m}{a}。", 72, n=THIRD, k=NUMBERS, a=[*ANIMALS, *THINGS])
_add(
    "{n} have {k} {a.many}.",
    "{n}有{k}{a.m}{a}。",
    39,
    n=PLURAL_SUBJECTS,
    k=NUMBERS,
    a=[*ANIMALS, *THINGS],
)
_add("{n} has {a.a}.", "{n}有一{a.m}{a}。", 32, n=THIRD, a=[*ANIMALS, *THINGS])
_add("{n} has a {c} {t}.", "{n}有一{t.m}{c}的{t}。", 39, n=THIRD, c=COLOURS, t=THINGS)
_add("{n} doesn't have {a.a}.", "{n}没有{a}。", 26, n=THIRD, a=[*ANIMALS, *THINGS])
_add("I don't have {a.a}.", "我没有{a}。", 20, a=[*ANIMALS, *THINGS])
_add("Do you have {a.a}?", "你有{a}吗？", 26, a=[*ANIMALS, *THINGS])
_add("<How many>1 {a.many} do you <have>2?", "你<有>2<多少>1{a.m}{a}？", 32, a=[*ANIMALS, *THINGS])
_add(
    "<How many>1 {a.many} does {n} <have>2?",
    "{n}<有>2<多少>1{a.m}{a}？",
    26,
    n=NAMES,
    a=[*ANIMALS, *THINGS],
)

# Where things are.
_add("The {a} is {s}.", "{a}在{s}。", 84, a=[*LIVING, *THINGS], s=SPOTS)
_add("The {a} isn't {s}.", "{a}不在{s}。", 26, a=LIVING, s=SPOTS)
_add("Is the {a} {s}?", "{a}在{s}吗？", 32, a=LIVING, s=SPOTS)
_add("<Where>1 is the {a}?", "{a}在<哪里>1？", 46, a=[*LIVING, *THINGS])
_add("<Where>1 is {n}?", "{n}在<哪里>1？", 10, n=NAMES)
_add("<Where>1 are my {t.many}?", "我的{t}在<哪里>1？", 16, t=THINGS)
_add("The {a} is {r} {s}.", "{a}正在{s}{r}。", 98, a=LIVING, r=RESTING, s=SPOTS)
_add("{n} is {r} {s}.", "{n}正在{s}{r}。", 46, n=THIRD, r=RESTING, s=SPOTS)
_add("There is {a.a} {s}.", "{s}有一{a.m}{a}。", 72, a=LIVING, s=SPOTS)
_add("There are {k} {a.many} {s}.", "{s}有{k}{a.m}{a}。", 58, k=NUMBERS, a=LIVING, s=SPOTS)
_add("There is {t.a} {s}.", "{s}有一{t.m}{t}。", 46, t=[*THINGS, *FOODS], s=SURFACES)
_add("Is there {a.a} {s}?", "{s}有{a}吗？", 26, a=ANIMALS, s=SPOTS)
_add("The {t} is {s}.", "{t}在{s}。", 58, t=[*THINGS, *FOODS], s=SURFACES)
_add("{n} put the {t} {s}.", "{n}把{t}放在{s}。", 39, n=NAMES, t=THINGS, s=SURFACES)
_add("I saw {a.a} {s}.", "我在{s}看见了一{a.m}{a}。", 39, a=LIVING, s=SPOTS)
_add("The {a} ran {s}.", "{a}跑{s}。", 39, a=LIVING, s=INTO)
_add("The {a} ran <away>1.", "{a}<跑了>1。", 16, a=LIVING)
_add(
    "When the {a} <saw>1 the {b}, it ran away.",
    "{a}<看见>1{b}就跑了。",
    26,
    **{"a": ANIMALS, "b": LIVING},
)

# What things are like.
_add("The {a} is {j}.", "{a}很{j}。", 78, a=LIVING, j=[*STATES, *TRAITS])
_add("The {a} is very {j}.", "{a}非常{j}。", 39, a=LIVING, j=[*STATES, *TRAITS])
_add("The {a} is not {j}.", "{a}不{j}。", 32, a=LIVING, j=STATES)
_add("Is the {a} {j}?", "{a}{j}吗？", 26, a=LIVING, j=STATES)
_add("The {a} looks {j}.", "{a}看起来很{j}。", 26, a=LIVING, j=STATES)
_add("The {a} was too {j}.", "{a}太{j}了。", 39, a=LIVING, j=[*STATES, *TRAITS])
_add("The {p} was too {j}.", "{p}太{j}了。", 16, p=CROSSED[:2], j=TOO_WIDE)
_add("{n} is {j}.", "{n}很{j}。", 32, n=THIRD, j=STATES)
_add("{n} are {j}.", "{n}很{j}。", 10, n=PLURAL_SUBJECTS[:3], j=STATES)
_add("I'm {j}.", "我很{j}。", 6, j=STATES)
_add("Are you {j}?", "你{j}吗？", 6, j=STATES)
_add("<Why>1 are you so {j}?", "你<为什么>1这么{j}？", 6, j=STATES)
_add("The {a} is {j.er} than the {b}.", "{a}比{b}{j}。", 72, a=LIVING, b=LIVING, j=TRAITS)
_add("The {t} is {c}.", "{t}是{c}的。", 46, t=THINGS, c=COLOURS)
_add("The {a} is {c}.", "{a}是{c}的。", 32, a=ANIMALS, c=COLOURS)
_add(
    "The {a} is {c} and the {b} is {d}.",
    "{a}是{c}的，{b}是{d}的。",
    46,
    a=ANIMALS,
    b=ANIMALS,
    c=COLOURS,
    d=COLOURS,
)
_add(
    "The {a} is {j} and the {b} is {k}.",
    "{a}很{j}，{b}很{k}。",
    39,
    a=LIVING,
    b=LIVING,
    j=[*STATES, *TRAITS],
    k=[*STATES, *TRAITS],
)
_add("This {t} is {j}.", "这{t.m}{t}很{j}。", 39, t=THINGS, j=QUALITIES)
_add("That {a} is {j}.", "那{a.m}{a}很{j}。", 39, a=LIVING, j=TRAITS)
_add("The {t} is too {j}.", "{t}太{j}了。", 26, t=THINGS, j=QUALITIES)
_add("This is my {t}.", "这是我的{t}。", 20, t=THINGS)
_add("That is {a.a}.", "那是一{a.m}{a}。", 26, a=[*ANIMALS, *THINGS])
_add("<Whose>1 {t} is this?", "这是<谁>1的{t}？", 20, t=THINGS)
_add("Is this your {t}?", "这是你的{t}吗？", 20, t=THINGS)
_add(
    "{n} is {a.a}.",
    "{n}是一{a.m}{a}。",
    39,
    n=[*NAMES, *FAMILY[:4], *FAMILY[-2:]],
    a=[p for p in PEOPLE if p["zh"] not in ("孩子", "婴儿", "邻居")],
)
_add("What <color>1 is the {t}?", "{t}是什么<颜色>1的？", 20, t=[*THINGS, *ANIMALS])

# Because.
_it: Slots = {"a": ANIMALS, "p": CROSSED}
_add(
    "The {a} didn't <cross>2 the {p} <because>1 it was too {j}.",
    "{a}没有<过>2{p}，<因为>1它太{j}了。",
    98,
    j=TOO_TIRED,
    **_it,
)
_add(
    "The {a} didn't <cross>2 the {p} <because>1 it was too {j}.",
    "{a}没有<过>2{p}，<因为>1它太{j}了。",
    98,
    j=TOO_WIDE,
    **_it,
)
_add("The {a} <crossed>1 the {p}.", "{a}<过>1了{p}。", 26, a=LIVING, p=CROSSED)
_add("The {a} didn't <cross>1 the {p}.", "{a}没有<过>1{p}。", 26, a=LIVING, p=CROSSED)
_add(
    "The {a} didn't {v} the {b} <because>1 it was too {j}.",
    "{a}没有{v}{b}，<因为>1它太{j}了。",
    98,
    a=ANIMALS,
    b=ANIMALS,
    v=BEASTLY,
    j=[*TOO_TIRED, *TRAITS[:3]],
)
_add(
    "The {a} couldn't <run>2 <because>1 it was too {j}.",
    "{a}不能<跑>2，<因为>1它太{j}了。",
    16,
    a=ANIMALS,
    j=TOO_TIRED,
)
_add(
    "The {a} is sleeping <because>1 it is {j}.",
    "{a}在睡觉，<因为>1它很{j}。",
    16,
    a=ANIMALS,
    j=STATES,
)
_add(
    "I like the {a} <because>1 it is {j}.",
    "我喜欢{a}，<因为>1它很{j}。",
    26,
    a=ANIMALS,
    j=[TRAITS[0], TRAITS[4], TRAITS[9], TRAITS[11]],
)
_add(
    "{n} didn't <buy>2 the {t} <because>1 it was too {j}.",
    "{n}没有<买>2{t}，<因为>1它太{j}了。",
    72,
    n=THIRD,
    t=THINGS,
    j=QUALITIES,
)
_add(
    "The {t} didn't fit in the {u} <because>1 it was too {j}.",
    "{t}放不进{u}，<因为>1它太{j}了。",
    39,
    t=THINGS,
    u=[w for w in THINGS if w["en"] in ("bag", "box", "suitcase", "car")],
    j=QUALITIES[:2],
)
_add(
    "{n} didn't <come>2 <because>1 {n.he} was {j}.",
    "{n}没有<来>2，<因为>1{n.ta}很{j}。",
    39,
    n=THIRD,
    j=STATES,
)
_add(
    "{n} didn't <come>2 <because>1 {n.he} was <sick>3.",
    "{n}没有<来>2，<因为>1{n.ta}<生病了>3。",
    16,
    n=THIRD,
)
_add(
    "{n} didn't <go>2 {g} <because>1 {n.he} was too {j}.",
    "{n}没有<去>2{g}，<因为>1{n.ta}太{j}了。",
    39,
    n=THIRD,
    g=GOALS,
    j=STATES,
)
_add(
    "{n} was {j} <because>1 {n.he} <lost>2 the {t}.",
    "{n}很{j}，<因为>1{n.ta}<弄丢了>2{t}。",
    32,
    n=THIRD,
    j=[STATES[4], STATES[5]],
    t=THINGS,
)
_add("I can't <come>2 <because>1 I am {j}.", "我不能<来>2，<因为>1我很{j}。", 6, j=STATES)
_add(
    "The {a} ate the {f} <because>1 it was {j}.",
    "{a}吃了{f}，<因为>1它很{j}。",
    32,
    a=ANIMALS,
    f=FOODS,
    j=STATES[1:2],
)
_add(
    "The {a} drank the {f} <because>1 it was {j}.",
    "{a}喝了{f}，<因为>1它很{j}。",
    20,
    a=ANIMALS,
    f=MASS,
    j=STATES[2:3],
)

# Doing things, wanting to, being able to.
_add("{n} is {v.ing}.", "{n}正在{v}。", 58, n=THIRD, v=ACTIVITIES)
_add("{n} {n.be} {v.ing}.", "{n}正在{v}。", 26, n=PLURAL_SUBJECTS, v=ACTIVITIES)
_add("{n} {v.s} {t}.", "{n}{t}{v}。", 46, n=THIRD, v=ACTIVITIES, t=ALWAYS)
_add("{n} {v} {t}.", "{n}{t}{v}。", 26, n=PLURAL_SUBJECTS, v=ACTIVITIES, t=ALWAYS)
_add("{n} <likes>1 to {v}.", "{n}<喜欢>1{v}。", 39, n=THIRD, v=ACTIVITIES)
_add("{n} <like>1 to {v}.", "{n}<喜欢>1{v}。", 20, n=PLURAL_SUBJECTS, v=ACTIVITIES)
_add("{n} doesn't <like>1 to {v}.", "{n}不<喜欢>1{v}。", 26, n=THIRD, v=ACTIVITIES)
_add("{n} <wants>1 to {v}.", "{n}<想>1{v}。", 39, n=THIRD, v=ACTIVITIES)
_add("{n} <want>1 to {v}.", "{n}<想>1{v}。", 20, n=PLURAL_SUBJECTS, v=ACTIVITIES)
_add("{n} doesn't <want>1 to {v}.", "{n}不<想>1{v}。", 26, n=THIRD, v=ACTIVITIES)
_add("I don't <want>1 to {v}.", "我不<想>1{v}。", 13, v=ACTIVITIES)
_add("Do you <want>1 to {v}?", "你<想>1{v}吗？", 13, v=ACTIVITIES)
_add("{n} <can>1 {v}.", "{n}<会>1{v}。", 26, n=[*THIRD, *PLURAL_SUBJECTS], v=ACTIVITIES[:16])
_add("{n} <can>1't {v}.", "{n}不<会>1{v}。", 26, n=[*THIRD, *PLURAL_SUBJECTS], v=ACTIVITIES[:16])
_add("Can you {v}?", "你会{v}吗？", 10, v=ACTIVITIES[:16])
_add("Can {n} {v}?", "{n}会{v}吗？", 20, n=NAMES, v=ACTIVITIES[:16])
_add("Let's {v}.", "我们{v}吧。", 13, v=ACTIVITIES)
_add("<Why>1 are you {v.ing}?", "你<为什么>1在{v}？", 13, v=ACTIVITIES)
_add("Is {n} {v.ing}?", "{n}在{v}吗？", 20, n=NAMES, v=ACTIVITIES)
_add("{n} will {v} {t}.", "{n}{t}会{v}。", 39, n=[*THIRD, *PLURAL_SUBJECTS], v=ACTIVITIES, t=LATER)
_add(
    "{n} <went>1 {g} {t}.", "{n}{t}<去了>1{g}。", 46, n=[*THIRD, *PLURAL_SUBJECTS], g=GOALS, t=TIMES
)
_add("{n} <went>1 {g}.", "{n}<去了>1{g}。", 26, n=[*THIRD, *PLURAL_SUBJECTS], g=GOALS)
_add("{n} didn't <go>1 {g}.", "{n}没有<去>1{g}。", 26, n=[*THIRD, *PLURAL_SUBJECTS], g=GOALS)
_add("{n} <wants>1 to <go>2 {g}.", "{n}<想>1<去>2{g}。", 26, n=THIRD, g=GOALS)
_add("Are you going {g}?", "你要去{g}吗？", 10, g=GOALS)
_add("<How>1 do I <get>2 {g}?", "我<怎么>1<去>2{g}？", 9, g=GOALS)
_add(
    "{n} {v.ed} the {t}.", "{n}{v.le}{t}。", 72, n=[*THIRD, *PLURAL_SUBJECTS], v=HANDLING, t=THINGS
)
_add("{n} {v.ed} my {t}.", "{n}{v.le}我的{t}。", 26, n=THIRD, v=HANDLING, t=THINGS)
_add("Someone {v.ed} my {t}.", "有人{v.le}我的{t}。", 20, v=HANDLING, t=THINGS)
_add("<Who>1 {v.ed} my {t}?", "<谁>1{v.le}我的{t}？", 26, v=HANDLING, t=THINGS)
_add(
    "{n} didn't {v} the {t}.",
    "{n}没有{v}{t}。",
    39,
    n=[*THIRD, *PLURAL_SUBJECTS],
    v=HANDLING,
    t=THINGS,
)
_add("Did you {v} the {t}?", "你{v.le}{t}吗？", 26, v=HANDLING, t=THINGS)
_add("{n} <wants>1 to <buy>2 {t.a}.", "{n}<想>1<买>2一{t.m}{t}。", 32, n=THIRD, t=THINGS)
_add("I <want>1 to <buy>2 {t.a}.", "我<想>1<买>2一{t.m}{t}。", 20, t=THINGS)
_add("<How much>1 is this {t}?", "这{t.m}{t}<多少钱>1？", 20, t=THINGS)
_add("{n} <ate>1 {f.a}.", "{n}<吃了>1一{f.m}{f}。", 26, n=[*THIRD, *PLURAL_SUBJECTS], f=FOODS)
_add("The {a} <ate>1 the {f}.", "{a}<吃了>1{f}。", 39, a=LIVING, f=[*FOODS, *ANIMALS[:10]])
_add("Did the {a} <eat>1 the {f}?", "{a}<吃了>1{f}吗？", 20, a=LIVING, f=FOODS)
_add("<Who>1 <ate>2 the {f}?", "<谁>1<吃了>2{f}？", 6, f=FOODS)
_add("{n} <drinks>1 {f} {t}.", "{n}{t}<喝>1{f}。", 20, n=THIRD, f=MASS, t=ALWAYS)
_add("I <like>1 {a.many}.", "我<喜欢>1{a}。", 26, a=[*ANIMALS, *FOODS])
_add("I don't <like>1 {a.many}.", "我不<喜欢>1{a}。", 20, a=[*ANIMALS, *FOODS])
_add("Do you <like>1 {a.many}?", "你<喜欢>1{a}吗？", 26, a=[*ANIMALS, *FOODS])
_add("{n} <likes>1 {a.many}.", "{n}<喜欢>1{a}。", 32, n=THIRD, a=[*ANIMALS, *FOODS])
_add("I <like>1 {f}.", "我<喜欢>1{f}。", 6, f=MASS)
_add("{a.many} <eat>1 {b.many}.", "{a}<吃>1{b}。", 20, a=ANIMALS, b=ANIMALS)
_add("Don't <touch>1 the {a}.", "别<碰>1{a}。", 26, a=[*ANIMALS, *THINGS])
_add("Look at the {a}!", "看那{a.m}{a}！", 26, a=LIVING)
_add(
    "{n} saw a {c} {a} {t}.",
    "{n}{t}看见了一{a.m}{c}的{a}。",
    39,
    n=[*THIRD, *PLURAL_SUBJECTS],
    c=COLOURS,
    a=[*ANIMALS, *THINGS],
    t=TIMES,
)
