"""Programs of packages whose documentation shows no calls that can be read: each is called here as a user would call it.

Where a package states results (sgp4's verification data), these are compared too.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from corpus import further
from corpus.run import Plan, Program, Result, in_processes, outcome

Function = Callable[..., Any]


def _geographiclib() -> Iterator[Program]:
    from geographiclib.geodesic import Geodesic

    earth = Geodesic.WGS84

    def inverse(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
        return earth.Inverse(lat1, lon1, lat2, lon2)["s12"]  # type: ignore[no-any-return]

    def azimuths(lat1: float, lon1: float, lat2: float, lon2: float) -> tuple[float, float]:
        found = earth.Inverse(lat1, lon1, lat2, lon2)
        return found["azi1"], found["azi2"]

    def direct(lat1: float, lon1: float, azi1: float, s12: float) -> tuple[float, float]:
        found = earth.Direct(lat1, lon1, azi1, s12)
        return found["lat2"], found["lon2"]

    def area(*corners: float) -> float:
        polygon = earth.Polygon()
        for lat, lon in zip(corners[::2], corners[1::2]):
            polygon.AddPoint(lat, lon)
        return polygon.Compute()[2]  # type: ignore[no-any-return]

    for place in (
        (40.6, -73.8, 51.6, -0.5),
        (-41.32, 174.81, 40.96, -5.5),
        (10.1, 20.2, 10.3, 20.4),
        (0.5, 1.0, 5.0, 170.0),
    ):
        yield Program("geographiclib", "Inverse", inverse, place)
        yield Program("geographiclib", "Inverse, azimuths", azimuths, place)
    for place in ((40.6, -73.8, 45.5, 5.5e6), (-32.1, 116.7, 225.0, 2e7), (1.0, 2.0, 3.0, 1e3)):
        yield Program("geographiclib", "Direct", direct, place)
    yield Program("geographiclib", "Polygon", area, (0.3, 0.5, 1.0, 89.5, 88.0, 10.5))


def _utm() -> Iterator[Program]:
    import utm

    for lat, lon in ((51.2, 7.5), (-12.3, 100.1), (63.4, 10.4), (0.5, -179.3)):
        yield Program("utm", "from_latlon", lambda lat, lon: utm.from_latlon(lat, lon)[:2], (lat, lon))
    for east, north, zone, letter in (
        (395201.31, 5673135.24, 32, "U"),
        (340000.0, 5710000.0, 32, "U"),
        (4e5, 8e6, 50, "L"),
    ):
        yield Program("utm", "to_latlon", utm.to_latlon, (east, north, zone, letter))


def _psychrolib() -> Iterator[Program]:
    import psychrolib

    psychrolib.SetUnitSystem(psychrolib.SI)
    usual = {
        "TDryBulb": 25.3, "TWetBulb": 19.5, "TDewPoint": 15.2, "RelHum": 0.61, "HumRatio": 0.0112, "Pressure": 95461.0,
        "VapPres": 1700.0, "Altitude": 1000.0, "StationPressure": 95000.0, "SeaLevelPressure": 101000.0, "TKelvin": 298.2,
        "TCelsius": 25.0, "TFahrenheit": 77.0, "TRankine": 537.0, "MoistAirEnthalpy": 54000.0, "MoistAirVolume": 0.9,
        "DryAirEnthalpy": 25000.0, "SpecificHum": 0.011, "DegreeOfSaturation": 0.5,
    }  # fmt: skip
    for name, function in sorted(vars(psychrolib).items()):
        if inspect.isfunction(function) and name.startswith(("Get", "Calc")):
            parameters = list(inspect.signature(function).parameters)
            if parameters and all(p in usual for p in parameters):
                yield Program("psychrolib", name, function, tuple([usual[p] for p in parameters]))


def _sgp4() -> Iterator[Program]:
    from sgp4.model import Satrec

    folder = Path(str(importlib.import_module("sgp4").__file__)).parent
    lines = (folder / "SGP4-VER.TLE").read_text(encoding="ascii").splitlines()
    elements = [(a, b) for a, b in pairwise(lines) if a.startswith("1 ") and b.startswith("2 ")]
    stated = _verification((folder / "tcppver.out").read_text(encoding="ascii"))
    propagate = importlib.import_module("sgp4.propagation").sgp4

    for one, two in elements:
        satellite = Satrec.twoline2rv(one[:69], two[:69])
        number = one[2:7].strip()
        for minutes, where in stated.get(number, [])[1:3]:

            def place(t: float, satellite: Any = satellite) -> Any:
                r, v = propagate(satellite, t)
                return (*r, *v) if r else (math.nan,)

            found = place(minutes)
            if len(found) == 6 and max(abs(a - b) for a, b in zip(found[:3], where)) < 1e-4:
                yield Program("sgp4", f"satellite {number} at {minutes} min", place, (minutes,))


def _verification(text: str) -> dict[str, list[tuple[float, list[float]]]]:
    """Return the stated positions at each time in minutes, by satellite."""
    found: dict[str, list[tuple[float, list[float]]]] = {}
    rows: list[tuple[float, list[float]]] = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1] == "xx":
            rows = found.setdefault(words[0], [])
        elif len(words) >= 7 and re.match(r"-?\d", words[0]):
            rows.append((float(words[0]), [float(w) for w in words[1:4]]))
    return found


def _pygeomag() -> Iterator[Program]:
    from pygeomag import GeoMag

    model = GeoMag()

    def field(glat: float, glon: float, alt: float, time: float) -> tuple[Any, ...]:
        found = model.calculate(glat=glat, glon=glon, alt=alt, time=time)
        return found.d, found.f, found.h, found.i

    for place in ((80.0, 0.5, 0.5, 2025.5), (0.5, 120.0, 10.0, 2026.3), (-80.0, 240.0, 100.0, 2027.5)):
        yield Program("pygeomag", "calculate", field, place)


def _colors() -> Iterator[Program]:
    from colormath.color_conversions import convert_color
    from colormath.color_objects import HSLColor, LabColor, LCHabColor, LuvColor, XYZColor, sRGBColor

    def between(source: Any, target: Any) -> Function:
        def convert(*parts: float) -> Any:
            return convert_color(source(*parts), target).get_value_tuple()

        return convert

    for target in (XYZColor, LabColor, LuvColor, LCHabColor, HSLColor):
        yield Program("colormath", f"sRGB to {target.__name__}", between(sRGBColor, target), (0.3, 0.5, 0.7))
    for source in (LabColor, LuvColor):
        yield Program("colormath", f"{source.__name__} to sRGB", between(source, sRGBColor), (50.0, 10.0, -20.0))

    import hsluv

    for name in ("hsluv_to_rgb", "hpluv_to_rgb"):
        yield Program("hsluv", name, lambda h, s, v, name=name: getattr(hsluv, name)((h, s, v)), (120.5, 60.2, 40.3))
    for name in ("rgb_to_hsluv", "rgb_to_hpluv", "rgb_to_lch", "rgb_to_xyz"):
        yield Program("hsluv", name, lambda r, g, b, name=name: getattr(hsluv, name)((r, g, b)), (0.2, 0.5, 0.7))

    from coloraide import Color

    def converted(space: str) -> Function:
        return lambda r, g, b: list(Color("srgb", [r, g, b]).convert(space).coords())

    for space in ("lab", "oklab", "oklch", "hsl", "xyz-d65", "display-p3", "jzazbz", "hsv"):
        yield Program("coloraide", f"sRGB to {space}", converted(space), (0.2, 0.5, 0.7))
    for method in ("2000", "76", "cmc", "itp"):
        yield Program(
            "coloraide",
            f"ΔE {method}",
            lambda r, g, b, method=method: Color("srgb", [r, g, b]).delta_e("orange", method=method),
            (0.2, 0.5, 0.7),
        )


def _astral() -> Iterator[Program]:
    from astral import sun

    for name, function in sorted(vars(sun).items()):
        if inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["juliancentury"]:
            yield Program("astral", name, function, (0.2437,))
    yield Program("astral", "refraction_at_zenith", sun.refraction_at_zenith, (80.3,))


def _rotations() -> Iterator[Program]:
    from transforms3d import affines, axangles, euler, quaternions

    angles = (0.3, -0.5, 0.7)
    yield Program("transforms3d", "euler2mat", euler.euler2mat, angles)
    yield Program("transforms3d", "euler2quat", euler.euler2quat, angles)
    yield Program(
        "transforms3d", "mat2euler", lambda a, b, c: euler.mat2euler(euler.euler2mat(a, b, c, "rxyz"), "rxyz"), angles
    )
    yield Program("transforms3d", "quat2mat", lambda *q: quaternions.quat2mat(q), (0.9, 0.1, 0.2, 0.3))
    yield Program("transforms3d", "qmult", lambda *q: quaternions.qmult(q, (0.5, 0.5, 0.5, 0.5)), (0.9, 0.1, 0.2, 0.3))
    yield Program("transforms3d", "qinverse", lambda *q: quaternions.qinverse(q), (0.9, 0.1, 0.2, 0.3))
    yield Program(
        "transforms3d", "axangle2mat", lambda x, y, z, t: axangles.axangle2mat((x, y, z), t), (0.9, 0.1, 0.2, 0.3)
    )
    yield Program(
        "transforms3d",
        "compose",
        lambda *t: affines.compose(t, euler.euler2mat(*angles), [1.0, 2.0, 3.0]),
        (0.1, 0.2, 0.3),
    )


def _iapws() -> Iterator[Program]:
    from iapws import iapws97

    for t, p in ((300.0, 3.0), (500.0, 3.0), (300.0, 80.0)):
        yield Program("iapws", "region 1", lambda t, p: [iapws97._Region1(t, p)[k] for k in "vhs"], (t, p))
    for t, p in ((300.0, 0.0035), (700.0, 0.0035), (700.0, 30.0)):
        yield Program("iapws", "region 2", lambda t, p: [iapws97._Region2(t, p)[k] for k in "vhs"], (t, p))
    yield Program("iapws", "region 3", lambda d, t: [iapws97._Region3(d, t)[k] for k in "hs"], (500.0, 650.0))
    yield Program("iapws", "saturation", iapws97._PSat_T, (450.0,))


def _control() -> Iterator[Program]:
    from simple_pid import PID

    def tracked(kp: float, ki: float, kd: float) -> float:
        controller = PID(kp, ki, kd, setpoint=1.0, output_limits=(-5.0, 5.0), sample_time=None)
        x = 0.0
        for _ in range(30):
            x += 0.1 * (controller(x, dt=0.1) - x)
        return x

    yield Program("simple-pid", "PID", tracked, (1.1, 0.3, 0.05))


def _detest() -> Iterator[Program]:
    import numpy as np
    from nodepy import ivp

    keys = [f"{group}{k}" for group in "ABCDEF" for k in range(1, 6)]
    for key in keys:
        try:
            problem = ivp.detest(key)
        except Exception:
            continue
        if not hasattr(problem, "rhs"):
            continue
        scalar = np.ndim(problem.u0) == 0

        def steps(*start: float, problem: Any = problem, scalar: bool = scalar) -> Any:
            """Four steps of the classical Runge-Kutta method."""
            u = start[0] if scalar else np.array(start)
            h, f = 0.05, problem.rhs
            for k in range(4):
                t = 0.1 + k * h
                a = f(t, u)
                b = f(t + h / 2, u + h / 2 * a)
                c = f(t + h / 2, u + h / 2 * b)
                u = u + h / 6 * (a + 2 * b + 2 * c + f(t + h, u + h * c))
            return u if scalar else np.sum(u * u)

        start = [float(x) for x in np.ravel(problem.u0)]
        yield Program("nodepy", f"DETEST {key}", steps, tuple([x + 0.01 * (k + 1) for k, x in enumerate(start)]))


def _geodesy() -> Iterator[Program]:
    from pygeodesy import ellipsoidalKarney, ellipsoidalVincenty, formy, sphericalTrigonometry

    here = (52.205, 0.119, 48.857, 2.351)
    for name in ("haversine", "cosineLaw", "flatLocal", "vincentys", "bearing", "thomas", "hubeny"):
        function = getattr(formy, name, None)
        if function is not None:
            yield Program("pygeodesy", name, function, here)
    for module in (ellipsoidalVincenty, ellipsoidalKarney, sphericalTrigonometry):

        def distance(a: float, b: float, c: float, d: float, module: Any = module) -> Any:
            return module.LatLon(a, b).distanceTo(module.LatLon(c, d))

        yield Program("pygeodesy", f"{module.__name__.split('.')[-1]}.distanceTo", distance, here)

        def cartesian(a: float, b: float, module: Any = module) -> Any:
            return tuple(module.LatLon(a, b).toCartesian().xyz)

        yield Program("pygeodesy", f"{module.__name__.split('.')[-1]}.toCartesian", cartesian, here[:2])

    from geopy import distance as of_geopy

    yield Program("geopy", "great_circle", lambda a, b, c, d: of_geopy.great_circle((a, b), (c, d)).km, here)
    yield Program("geopy", "geodesic", lambda a, b, c, d: of_geopy.geodesic((a, b), (c, d)).km, here)


def _astronomy() -> Iterator[Program]:
    from pymeeus.Angle import Angle
    from pymeeus.Coordinates import angular_separation, ecliptical2equatorial, equatorial2ecliptical

    def parts(function: Function) -> Function:
        return lambda *degrees: [float(x) for x in function(*[Angle(d) for d in degrees], Angle(23.4392911))]

    yield Program("pymeeus", "equatorial2ecliptical", parts(equatorial2ecliptical), (116.328942, 28.026183))
    yield Program("pymeeus", "ecliptical2equatorial", parts(ecliptical2equatorial), (113.21563, 6.68417))
    yield Program(
        "pymeeus",
        "angular_separation",
        lambda *degrees: float(angular_separation(*[Angle(d) for d in degrees])),
        (213.9154, 19.1825, 201.2983, -11.1614),
    )


SOURCES: dict[str, Callable[[], Iterator[Program]]] = {
    "geographiclib": _geographiclib, "utm": _utm, "psychrolib": _psychrolib, "sgp4": _sgp4, "pygeomag": _pygeomag,
    "colors": _colors, "astral": _astral, "transforms3d": _rotations, "iapws": _iapws, "simple-pid": _control,
    "nodepy": _detest, "geodesy": _geodesy, "pymeeus": _astronomy,
    **{source.__name__: source for source in further.SOURCES},
}  # fmt: skip


def some(source: str, every: int, plan: Plan) -> list[tuple[str, Result]]:
    """Return the outcomes of the programs of a source, each with its package: one job of a worker."""
    found = []
    for number, program in itertools.islice(enumerate(SOURCES[source]()), 0, None, every):
        if plan.over:
            break
        work = functools.partial(outcome, program.name, program.function, program.args, plan)
        result = plan.result(f"{program.package} {number} {program.name}", work)
        if result is None:
            result = Result(program.name, "wrong", "plain Python", f"gives no numbers for {program.args}", 0.0)
        found.append((program.package, result))
    return found


def results(args: argparse.Namespace) -> list[tuple[str, list[Result]]]:
    """Return the outcomes of all programs, by package."""
    rows: dict[str, list[Result]] = {}
    jobs = [(source, args.every, args.plan) for source in SOURCES]
    for part in in_processes(jobs, some, args.processes, args.until):
        for package, result in part:
            rows.setdefault(package, []).append(result)
    return list(rows.items())
