"""More kinds of things outside of a compiled function that it follows: methods, defaults, modules, views, buffers."""

from __future__ import annotations

import sys
import types

import pytest
from test_read_from_outside import WAYS, check_that_it_follows, defined

from micrograd import jit, vmap
from micrograd.engine import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="there is no machine code")

# Each source defines f, which reads something, and change(), after which it reads something else.
PROGRAMS = {
    "the keywords of a partial": "def g(x,a): return a*x\nh=functools.partial(g,a=2.0)\ndef f(x): return h(x)\n"
    "def change(): h.keywords['a']=5.0",
    "its own keywords, of a partial": "def g(x,a): return a*x\nf=functools.partial(g,a=2.0)\n"
    "def change(): f.keywords['a']=5.0",
    "the arguments of a partial": "def g(a,x): return a*x\nh=functools.partial(g,2.0)\ndef f(x): return h(x)\n"
    "def change(): h.__setstate__((g,(5.0,),{},None))",
    "the function of a partial": "def g(a,x): return a*x\nh=functools.partial(g,5.0)\ndef f(x): return h(x)\n"
    "def change(): h.__setstate__((lambda a,x: a*x*x+1.0,h.args,{},None))",
    "its own arguments, of a partial": "def g(a,x): return a*x\nf=functools.partial(g,2.0)\n"
    "def change(): f.__setstate__((g,(5.0,),{},None))",
    "a partialmethod": "class S:\n  def m(self,a,x): return x*a\n  pm=functools.partialmethod(m,2.0)\ns=S()\n"
    "def f(x): return s.pm(x)\ndef change(): S.pm=functools.partialmethod(S.m,5.0)",
    "a method": "class S:\n  def m(self,x): return x*2.0\ns=S()\ndef f(x): return s.m(x)\n"
    "def change(): S.m=lambda self,x:5.0*x",
    "a method of a base class": "class B:\n  def m(self,x): return x*2.0\nclass S(B): pass\ns=S()\ndef f(x): return s.m(x)\n"
    "def change(): B.m=lambda self,x:5.0*x",
    "a method in front of one of a base class": "class B:\n  def m(self,x): return x*2.0\nclass S(B): pass\ns=S()\n"
    "def f(x): return s.m(x)\ndef change(): S.m=lambda self,x:5.0*x",
    "a static method": "class S:\n  @staticmethod\n  def m(x): return x*2.0\ndef f(x): return S.m(x)\n"
    "def change(): S.m=staticmethod(lambda x:5.0*x)",
    "a class method": "class S:\n  @classmethod\n  def m(c,x): return x*2.0\ndef f(x): return S.m(x)\n"
    "def change(): S.m=classmethod(lambda c,x:5.0*x)",
    "a property that is another": "class S:\n  @property\n  def p(self): return 2.0\ns=S()\ndef f(x): return s.p*x\n"
    "def change(): S.p=property(lambda s:5.0)",
    "the class of an object": "class A:\n  def m(self,x): return 2.0*x\nclass B:\n  def m(self,x): return 5.0*x\ns=A()\n"
    "def f(x): return s.m(x)\ndef change(): s.__class__=B",
    "a private slot": "class B:\n  __slots__=('__k',)\n  def __init__(self): self.__k=2.0\n  def set(self,v): self.__k=v\n"
    "  def get(self): return self.__k\ns=B()\ndef f(x): return s.get()*x\ndef change(): s.set(5.0)",
    "a slot that is set later": "class B: __slots__=('k',)\ns=B()\ndef f(x): return getattr(s,'k',2.0)*x\n"
    "def change(): s.k=5.0",
    "an attribute that a class gets later": "class B: pass\ndef f(x): return (B.k if hasattr(B,'k') else 2.0)*x\n"
    "def change(): B.k=5.0",
    "an attribute of a class by a name in a variable": "class B: k=2.0\nn='k'\ndef f(x): return getattr(B,n)*x\n"
    "def change(): B.k=5.0",
    "a name of a module by a name in a variable": "import settings_of_outside\nn='k'\n"
    "def f(x): return vars(settings_of_outside)[n]*x\ndef change(): settings_of_outside.k=5.0",
    "globals()": "k=2.0\nn='k'\ndef f(x): return globals()[n]*x\ndef change():\n    global k\n    k = 5.0",
    "eval": "k=2.0\ndef f(x): return eval('k')*x\ndef change():\n    global k\n    k = 5.0",
    "a name that is defined later": "def f(x):\n  try: return k*x\n  except NameError: return 2.0*x\ndef change():\n"
    "    global k\n    k = 5.0",
    "a built-in function": "def f(x): return abs(x)*2.0\ndef change():\n  global abs\n  abs=lambda x:5.0*x",
    "a built-in function in a helper": "def g(x): return max(x,2.0)\ndef f(x): return g(x)\ndef change():\n  global max\n"
    "  max=lambda x,y:5.0*x",
    "a method of a named tuple": "import typing\nclass P(typing.NamedTuple):\n  k: float=2.0\n"
    "  def m(self,x): return q*self.k*x\nq=1.0\np=P()\ndef f(x): return p.m(x)\ndef change():\n  global q\n  q=5.0",
    "the order of an OrderedDict": "d=collections.OrderedDict(a=2.0,b=5.0)\ndef f(x): return list(d.values())[0]*x\n"
    "def change(): d.move_to_end('a')",
    "a view of a dict": "a={'k':2.0}\nd=types.MappingProxyType(a)\ndef f(x): return d['k']*x\ndef change(): a['k']=5.0",
    "the values of a dict": "a={'k':2.0}\nv=a.values()\ndef f(x): return sum(v)*x\ndef change(): a['k']=5.0",
    "a function in an array": "k=2.0\na=np.empty(1,object)\na[0]=lambda x:k*x\ndef f(x): return a[0](x)\ndef change():\n"
    "    global k\n    k = 5.0",
    "the shape of an array": "a=np.arange(6.0).reshape(2,3)\ndef f(x): return a[1][0]*x\n"
    "def change(): a.resize((3,2),refcheck=False)",
    "a memoryview": "a=bytearray(b'\\x02')\nb=memoryview(a)\ndef f(x): return b[0]*x\ndef change(): a[0]=5",
    "a bytearray": "a=bytearray(b'\\x02')\ndef f(x): return a[0]*x\ndef change(): a[0]=5",
    "an array of the standard library": "import array\na=array.array('d',[2.0])\ndef f(x): return a[0]*x\n"
    "def change(): a[0]=5.0",
    "a module that is imported inside": "def f(x):\n  import settings_of_outside\n  return settings_of_outside.k*x\n"
    "def change():\n  import settings_of_outside\n  settings_of_outside.k=5.0",
    "a name that is imported inside": "def f(x):\n  from settings_of_outside import k\n  return k*x\ndef change():\n"
    "  import settings_of_outside\n  settings_of_outside.k=5.0",
    "an attribute of a function": "def g(x): return g.k*x\ng.k=2.0\ndef f(x): return g(x)\ndef change(): g.k=5.0",
    "the code of a function": "def g(x): return 2.0*x\ndef h(x): return 5.0*x\ndef f(x): return g(x)\n"
    "def change(): g.__code__=h.__code__",
    "its own code": "def h(x): return 5.0*x\ndef f(x): return 2.0*x\ndef change(): f.__code__=h.__code__",
    "other defaults": "def g(x,k=2.0): return k*x\ndef f(x): return g(x)\ndef change(): g.__defaults__=(5.0,)",
    "defaults by name": "def g(x,*,k=2.0): return k*x\ndef f(x): return g(x)\ndef change(): g.__kwdefaults__['k']=5.0",
    "its own defaults": "def f(x,k=2.0): return k*x\ndef change(): f.__defaults__=(5.0,)",
    "a function of one more type": "@functools.singledispatch\ndef g(o,x): return 2.0*x\ndef f(x): return g(1,x)\n"
    "def change():\n  @g.register(int)\n  def _(o,x): return 5.0*x",
    "a global in a function of one type": "k=2.0\n@functools.singledispatch\ndef g(o,x): return 1.0\n@g.register(int)\n"
    "def _(o,x): return k*x\ndef f(x): return g(1,x)\ndef change():\n    global k\n    k = 5.0",
    "what a descriptor reads": "class D:\n  def __get__(self,o,t=None): return o.v[0]\nclass S:\n  k=D()\n"
    "  def __init__(self): self.v=[2.0]\ns=S()\ndef f(x): return s.k*x\ndef change(): s.v[0]=5.0",
    "what a descriptor holds": "class D:\n  def __init__(self): self.v=2.0\n  def __get__(self,o,t=None): return self.v\n"
    "class S:\n  k=D()\ns=S()\ndef f(x): return s.k*x\ndef change(): S.__dict__['k'].v=5.0",
    "an attribute of a metaclass": "class M(type):\n  k=2.0\nclass S(metaclass=M): pass\ndef f(x): return S.k*x\n"
    "def change(): M.k=5.0",
    "a global in __init__": "class S:\n  def __init__(self): self.k=K\nK=2.0\ndef f(x): return S().k*x\ndef change():\n"
    "  global K\n  K=5.0",
    "a global in __new__": "class S:\n  def __new__(c):\n    o=object.__new__(c); o.k=K; return o\nK=2.0\n"
    "def f(x): return S().k*x\ndef change():\n  global K\n  K=5.0",
    "a factory of a dataclass": "D=2.0\n@dataclasses.dataclass\nclass S:\n"
    "  k:float=dataclasses.field(default_factory=lambda:D)\ndef f(x): return S().k*x\ndef change():\n  global D\n  D=5.0",
    "an attribute by super()": "class B:\n  k=2.0\nclass A(B):\n  k=1.0\n  def m(self,x): return super().k*x\ns=A()\n"
    "def f(x): return s.m(x)\ndef change(): B.k=5.0",
    "a method by super()": "class B:\n  def m(self,x): return 2.0*x\nclass A(B):\n  def m(self,x): return super().m(x)\n"
    "s=A()\ndef f(x): return s.m(x)\ndef change(): B.m=lambda self,x:5.0*x",
    "attrgetter": "import operator\nclass S: pass\ns=S()\ns.k=2.0\ng=operator.attrgetter('k')\ndef f(x): return g(s)*x\n"
    "def change(): s.k=5.0",
    "a method of a list": "s=[2.0]\ng=s.__getitem__\ndef f(x): return g(0)*x\ndef change(): s[0]=5.0",
    "a Decimal": "import decimal\nk=decimal.Decimal(2)\ndef f(x): return float(k)*x\ndef change():\n  global k\n"
    "  k=decimal.Decimal(5)",
    "the body of a class inside": "k=2.0\ndef f(x):\n  class L:\n    v=k\n  return L.v*x\ndef change():\n    global k\n"
    "    k = 5.0",
    "a module by another": "def f(x): return math.sin(x)*len(math.__name__)\ndef change():\n  global math\n"
    "  math=types.SimpleNamespace(sin=lambda x:5.0*x,__name__='m')",
    "a long list": "T=[float(i) for i in range(50_000)]\ndef f(x): return T[3]*x\ndef change(): T[3]=7.0",
    "a large dict": "T={i:float(i) for i in range(5_000)}\ndef f(x): return T[3]*x\ndef change(): T[3]=7.0",
    "2,000 pairs of numbers": "T=[[float(i),1.0] for i in range(2_000)]\ndef f(x): return T[3][0]*x\n"
    "def change(): T[3][0]=7.0",
    "a large array": "T=np.arange(100_000.0)\ndef f(x): return T[3]*x\ndef change(): T[3]=7.0",
    "a batch in a buffer": "T=np.ones((1_000,2))\ndef f(x): return T[999,1]*x\ndef change(): T[:]=7.0",
    "a transposed array": "T=np.arange(6_000.0).reshape(3,2_000).T\ndef f(x): return T[3,2]*x\ndef change(): T[3,2]=7.0",
    "every other number": "A=np.arange(6_000.0)\nT=A[::2]\ndef f(x): return T[3]*x\ndef change(): A[6]=7.0",
    "small whole numbers": "A=np.arange(12,dtype=np.int8).reshape(3,4)\nT=A[:,::-2]\ndef f(x): return T[2,1]*x\n"
    "def change(): A[2,1]=7",
    "a number of no axis": "T=np.array(2.0)\ndef f(x): return float(T)*x\ndef change(): T[...]=7.0",
    "a large array of objects": "T=np.array([2.0]*3_000,dtype=object)\ndef f(x): return T[3]*x\ndef change(): T[3]=7.0",
    "the shape of an array of objects": "T=np.array([1.0,2.0,3.0,4.0,5.0,6.0],dtype=object).reshape(2,3)\n"
    "def f(x): return T[1][0]*x\ndef change():\n  global T\n  T=T.reshape(3,2)",
    "a long deque": "T=collections.deque([2.0]*3_000)\ndef f(x): return T[3]*x\ndef change(): T[3]=7.0",
    "a large set": "T=set(range(3_000))\ndef f(x): return (2.0 if 3 in T else 5.0)*x\ndef change(): T.remove(3)",
    "another number in a set": "T={2.0}\ndef f(x): return sum(T)*x\ndef change():\n  T.clear()\n  T.add(5.0)",
    "a long list in an object": "class S: pass\ns=S()\ns.T=[2.0]*2_000\ndef f(x): return s.T[3]*x\n"
    "def change(): s.T[3]=7.0",
    "an imported function": "act = math.tanh\ndef f(x): return act(x)\ndef change():\n    global act\n    act = math.exp",
    "a field with the name of a method": "P=collections.namedtuple('P','values')\np=P([2.0])\n"
    "def f(x): return p.values[0]*x\ndef change(): p.values[0]=5.0",
}  # fmt: skip


@pytest.fixture
def settings(monkeypatch):
    module = types.ModuleType("settings_of_outside")
    module.k = 2.0
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", PROGRAMS)
def test_what_changes_outside_is_seen(what, way, settings):
    check_that_it_follows(PROGRAMS[what], WAYS[way])


# Each source defines f and other(), which changes what f does not read.
UNREAD = {
    "a list that __init__ makes": """\
class Model:
    def __init__(self): self.k, self.losses = 2.0, []
    def of(self, x): return self.k * x
model = Model()
def f(x): return model.of(x)
def other(): model.losses.append(1.0)
""",
    "a number of a class": """\
class Model:
    k, n = 2.0, 0
def f(x): return Model.k * x
def other(): Model.n += 1
""",
    "a method that is not called": """\
class Model:
    def of(self, x): return 2.0 * x
    def show(self): pass
model = Model()
def f(x): return model.of(x)
def other(): Model.show = lambda self: None
""",
    "an attribute of a function": """\
def g(x): return 2.0 * x
def f(x): return g(x)
def other(): g.calls = getattr(g, "calls", 0) + 1
""",
    "a name of a module": """\
import settings_of_outside
def f(x): return settings_of_outside.k * x
def other(): settings_of_outside.n = getattr(settings_of_outside, "n", 0) + 1
""",
    "an equal array": """\
ks = np.array([2.0])
def f(x): return ks[0] * x
def other(): ks[0] = 2.0
""",
}  # fmt: skip


@pytest.mark.parametrize("what", UNREAD)
def test_what_is_not_read_is_no_reason_to_trace(what, settings):
    space = defined(UNREAD[what])
    f, rows = jit(space["f"]), vmap(space["f"])
    f(1.0), rows([1.0])
    variants, of_rows = f.variants, rows.variants
    for i in range(5):
        space["other"]()
        f(float(i)), rows([float(i)])
    assert f.variants is variants and rows.variants is of_rows
