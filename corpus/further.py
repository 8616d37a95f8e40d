"""Programs of packages that were tried after the others were right: what somebody meets who has not asked us before."""

from __future__ import annotations

import datetime
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from corpus.run import Program

Function = Callable[..., Any]
NOON = datetime.datetime(2026, 6, 21, 10, 30, tzinfo=datetime.timezone.utc)


def trueskill() -> Iterator[Program]:
    """Yield the rating of players, by message passing on a graph of objects."""
    import trueskill as ts

    def after(mu: float, sigma: float, other: float, second: float, drawn: bool) -> tuple[float, ...]:
        one, two = ts.rate_1vs1(ts.Rating(mu, sigma), ts.Rating(other, second), drawn=drawn)
        return one.mu, one.sigma, two.mu, two.sigma

    def teams(a: float, b: float, c: float, s: float) -> list[float]:
        groups = [(ts.Rating(a, s), ts.Rating(b, s)), (ts.Rating(c, s),)]
        return [r.mu for group in ts.rate(groups, ranks=[0, 1]) for r in group]

    def quality(a: float, b: float, s: float) -> Any:
        return ts.quality_1vs1(ts.Rating(a, s), ts.Rating(b, 6.0))

    yield Program("trueskill", "rate_1vs1", after, (25.3, 8.2, 28.1, 5.5, False))
    yield Program("trueskill", "rate_1vs1, drawn", after, (25.3, 8.2, 28.1, 5.5, True))
    yield Program("trueskill", "rate, teams", teams, (25.3, 22.0, 28.1, 7.5))
    yield Program("trueskill", "quality_1vs1", quality, (25.3, 28.0, 7.5))


def glicko2() -> Iterator[Program]:
    """Yield the example of Glickman's paper."""
    from glicko2 import Player

    def updated(rating: float, rd: float, vol: float) -> tuple[float, ...]:
        player = Player(rating=rating, rd=rd, vol=vol)
        player.update_player([1400, 1550, 1700], [30, 100, 300], [1, 0, 0])
        return player.rating, player.rd, player.vol

    yield Program("glicko2", "update_player", updated, (1500.0, 200.0, 0.06))


def geomdl() -> Iterator[Program]:
    """Yield points of curves and surfaces, by one coordinate of a control point and by the parameter."""
    from geomdl import NURBS, BSpline, knotvector, linalg

    def curve(kind: Any, weights: bool) -> Function:
        def point(u: float, x: float, y: float) -> Any:
            c = kind()
            c.degree = 3
            points = [[5.0, 5.0], [10.0, 10.0], [x, y], [35.0, 15.0], [45.0, 10.0], [50.0, 5.0]]
            c.ctrlpts = [[p, q, 1.0 + 0.1 * k] for k, (p, q) in enumerate(points)] if weights else points
            c.knotvector = knotvector.generate(3, 6)
            return c.evaluate_single(u)

        return point

    def surface(u: float, v: float, z: float) -> Any:
        s = BSpline.Surface()
        s.degree_u = s.degree_v = 2
        s.set_ctrlpts([[float(i), float(j), z * i * j - i + 0.5] for i in range(4) for j in range(3)], 4, 3)
        s.knotvector_u, s.knotvector_v = knotvector.generate(2, 4), knotvector.generate(2, 3)
        return s.evaluate_single((u, v))

    yield Program("geomdl", "BSpline.Curve", curve(BSpline.Curve, False), (0.37, 20.0, 12.5))
    yield Program("geomdl", "NURBS.Curve", curve(NURBS.Curve, True), (0.62, 20.0, 12.5))
    yield Program("geomdl", "BSpline.Surface", surface, (0.3, 0.7, 1.5))
    yield Program(
        "geomdl", "vector_cross", lambda *v: linalg.vector_cross(v[:3], v[3:]), (1.0, 2.0, 3.0, 0.5, -1.0, 2.0)
    )
    yield Program("geomdl", "vector_normalize", lambda *v: linalg.vector_normalize(v), (1.0, 2.0, 3.0))


def steam() -> Iterator[Program]:
    """Yield the methods of XSteam at one state."""
    from pyXSteam.XSteam import XSteam

    table = XSteam(XSteam.UNIT_SYSTEM_MKS)
    states = {"p": 10.3, "t": 250.7, "h": 2950.0, "s": 6.9, "x": 0.4, "rho": 4.0}
    for name, method in sorted(vars(XSteam).items()):
        if inspect.isfunction(method) and not name.startswith("_") and name not in ("log_level", "x_ph_new"):
            given = list(inspect.signature(method).parameters)[1:]
            if given and all(p in states for p in given) and name != "psubl_t":  # ice
                yield Program("pyXSteam", name, getattr(table, name), tuple([states[p] for p in given]))


def places() -> Iterator[Program]:
    """Yield haversine and the coordinate transforms of pymap3d."""
    import haversine
    import pymap3d
    from pymap3d import latitude, lox, vincenty

    here = (52.205, 0.119, 48.857, 2.351)
    yield Program("haversine", "haversine", lambda a, b, c, d: haversine.haversine((a, b), (c, d)), here)
    yield Program(
        "haversine",
        "inverse_haversine",
        lambda a, b, d, e: haversine.inverse_haversine((a, b), d, e),
        (52.2, 0.1, 32.0, 1.2),
    )
    usual = {
        "lat": 42.0, "lon": -82.0, "alt": 200.0, "h": 200.0, "az": 33.0, "el": 70.0, "srange": 1000.0, "lat0": 42.1,
        "lon0": -82.1, "h0": 150.0, "x": 660930.0, "y": -4701424.0, "z": 4246579.0, "e": 186.3, "n": 286.8, "u": 939.7,
        "d": -939.7, "heading": 15.0,
        "dr": 200.0, "cr": 50.0, "above": 900.0, "elev": 70.0, "slantRange": 1000.0, "v": 5.0, "w": 7.0,
        "geodetic_lat": 42.0, "alt_m": 100.0, "geocentric_lat": 41.8, "isometric_lat": 46.0, "conformal_lat": 41.8,
        "rectifying_lat": 41.8, "authalic_lat": 41.8, "parametric_lat": 41.9, "lat1": 40.0, "lon1": -80.0, "lat2": 51.0,
        "lon2": 1.0, "tilt": 12.0, "n1": 0.1, "n2": -0.73, "n3": 0.67, "theta": 0.4,
    }  # fmt: skip
    modules = [
        importlib.import_module(f"pymap3d.{m}")
        for m in ("aer", "dca", "ecef", "enu", "ned", "nvector", "rcurve", "los", "haversine")
    ]
    for module in [*modules, latitude, lox, vincenty]:
        for name, function in sorted(vars(module).items()):
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                given = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
                if given and all(p in usual for p in given):
                    yield Program(
                        "pymap3d",
                        f"{module.__name__.split('.')[-1]}.{name}",
                        function,
                        tuple([usual[p] for p in given]),
                    )
    yield Program("pymap3d", "vincenty.vdist", vincenty.vdist, here)
    yield Program(
        "pymap3d",
        "eci2ecef",
        lambda x, y, z: pymap3d.eci2ecef(x, y, z, NOON, force_non_astropy=True),
        (660930.0, -4701424.0, 4246579.0),
    )


def sun() -> Iterator[Program]:
    """Yield where the sun stands."""
    from pysolar import radiation, solar

    for name in ("get_altitude", "get_azimuth", "get_altitude_fast", "get_azimuth_fast"):
        f = getattr(solar, name)
        yield Program("pysolar", name, lambda lat, lon, f=f: f(lat, lon, NOON), (42.2, -71.4))
    for name in (
        "get_heliocentric_longitude",
        "get_heliocentric_latitude",
        "get_sun_earth_distance",
        "get_geocentric_longitude",
    ):
        yield Program("pysolar", name, getattr(solar, name), (0.0037,))
    yield Program("pysolar", "get_nutation", lambda t: solar.get_nutation(t)["longitude"], (0.0037,))
    yield Program("pysolar", "get_radiation_direct", lambda a: radiation.get_radiation_direct(NOON, a), (35.0,))

    from suncalc import suncalc

    for name in ("right_ascension", "declination"):
        yield Program("suncalc", name, getattr(suncalc, name), (0.3, 0.1))
    for name in ("azimuth", "altitude"):
        yield Program("suncalc", name, getattr(suncalc, name), (0.3, 0.9, 0.2))
    yield Program(
        "suncalc", "ecliptic_longitude", lambda d: suncalc.ecliptic_longitude(suncalc.solar_mean_anomaly(d)), (9668.3,)
    )
    yield Program("suncalc", "moon_coords", lambda d: [float(x) for x in suncalc.moon_coords(d).values()], (9668.3,))
    yield Program("suncalc", "hour_angle", suncalc.hour_angle, (-0.0145, 0.7, 0.2))


def options() -> Iterator[Program]:
    """Yield prices of options and implied volatilities."""
    import py_lets_be_rational as pl

    yield Program("py_lets_be_rational", "black", pl.black, (100.0, 105.0, 0.3, 0.75, 1))
    yield Program("py_lets_be_rational", "normalised_black", pl.normalised_black, (-0.2, 0.4, 1))
    yield Program("py_lets_be_rational", "normalised_vega", pl.normalised_vega, (-0.2, 0.4))
    yield Program("py_lets_be_rational", "norm_cdf", pl.norm_cdf, (0.7,))
    for price in (8.0, 40.0, 0.05):
        yield Program(
            "py_lets_be_rational",
            f"implied volatility, {price}",
            pl.implied_volatility_from_a_transformed_rational_guess,
            (price, 100.0, 105.0, 0.75, 1),
        )


def money() -> Iterator[Program]:
    """Yield xirr: roots by SciPy."""
    from xirr import math as xirr

    days = [datetime.date(2024, 1, 1), datetime.date(2024, 7, 15), datetime.date(2025, 3, 1), datetime.date(2026, 2, 1)]
    yield Program("xirr", "xnpv", lambda r, *v: xirr.xnpv(dict(zip(days, v)), r), (0.07, -100.0, 30.0, 40.0, 55.0))
    yield Program("xirr", "xirr", lambda *v: xirr.xirr(dict(zip(days, v))), (-100.0, 30.0, 40.0, 55.0))


def rotations() -> Iterator[Program]:
    """Yield pyquaternion: NumPy inside of objects."""
    from pyquaternion import Quaternion

    def rotated(w: float, x: float, y: float, z: float) -> Any:
        return list(Quaternion(w, x, y, z).rotate([1.0, 2.0, 3.0]))

    def slerp(w: float, x: float, t: float) -> Any:
        return list(Quaternion.slerp(Quaternion(w, x, 0.2, 0.1), Quaternion(0.3, 0.4, 0.5, 0.6), t).elements)

    four = (0.9, 0.1, 0.2, 0.3)
    yield Program("pyquaternion", "rotate", rotated, four)
    yield Program(
        "pyquaternion", "product", lambda *q: list((Quaternion(*q) * Quaternion(0.5, 0.5, 0.5, 0.5)).elements), four
    )
    yield Program("pyquaternion", "inverse", lambda *q: list(Quaternion(*q).inverse.elements), four)
    yield Program("pyquaternion", "rotation_matrix", lambda *q: Quaternion(*q).rotation_matrix, four)
    yield Program("pyquaternion", "axis and angle", lambda *v: list(Quaternion(axis=v[:3], angle=v[3]).elements), four)
    yield Program("pyquaternion", "exp", lambda *q: list(Quaternion.exp(Quaternion(*q)).elements), four)
    yield Program("pyquaternion", "log", lambda *q: list(Quaternion.log(Quaternion(*q)).elements), four)
    yield Program("pyquaternion", "slerp", slerp, (0.9, 0.1, 0.3))


def seawater() -> Iterator[Program]:
    """Yield the equation of state of sea water, written for arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import seawater as sw
    for name, args in {
        "adtg": (34.7, 12.1, 1500.0), "cp": (34.7, 12.1, 1500.0), "dens0": (34.7, 12.1), "dens": (34.7, 12.1, 1500.0),
        "dpth": (1500.0, 35.0), "g": (35.0, 100.0), "ptmp": (34.7, 12.1, 1500.0, 0.0), "svel": (34.7, 12.1, 1500.0),
        "satO2": (34.7, 12.1), "satAr": (34.7, 12.1), "pres": (1500.0, 35.0), "alpha": (34.7, 12.1, 1500.0),
        "salt": (0.9, 12.1, 1500.0),
    }.items():  # fmt: skip
        yield Program("seawater", name, lambda *given, name=name: getattr(sw, name)(*given), args)


def others() -> Iterator[Program]:
    """Yield noise, colours and fatigue."""
    from perlin_noise import PerlinNoise

    noise = PerlinNoise(octaves=3, seed=7)
    yield Program("perlin-noise", "noise", lambda x, y: noise([x, y]), (0.31, 0.77))

    from colorspacious import cspace_convert, deltaE

    for space in ("XYZ1", "CIELab", "CAM02-UCS", "JCh"):
        yield Program(
            "colorspacious",
            f"sRGB1 to {space}",
            lambda *c, space=space: cspace_convert(c, "sRGB1", space),
            (0.2, 0.5, 0.7),
        )
    yield Program(
        "colorspacious", "deltaE", lambda *c: deltaE(c[:3], c[3:], input_space="sRGB1"), (0.2, 0.5, 0.7, 0.3, 0.4, 0.6)
    )

    import rainflow

    def damage(*series: float) -> Any:
        return sum(count * depth**3.0 for depth, count in rainflow.count_cycles(series))

    yield Program("rainflow", "count_cycles", damage, (-2.0, 1.0, -3.0, 5.0, -1.0, 3.0, -4.0, 4.0, -2.0))


SOURCES: tuple[Callable[[], Iterator[Program]], ...] = (
    trueskill, glicko2, geomdl, steam, places, sun, options, money, rotations, seawater, others,
)  # fmt: skip
