#!/usr/bin/env python3
"""Makes the three font files of this folder; see ../README.md.

    npm pack inter-ui@4.1.1 && tar xzf inter-ui-4.1.1.tgz
    pip install fonttools==4.* brotli
    python make.py package/web .
"""
import sys
from pathlib import Path

from fontTools import subset
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

# Latin-1, Latin Extended-A, the Greek of formulas, punctuation, super- and subscripts, currency, arrows,
# operators, and the shapes used as markers in text.
CHARACTERS = (
    "U+0020-007E,U+00A0-017F,U+0394,U+03A3,U+03A9,U+03B1-03B5,U+03BB,U+03BC,U+03C0,U+03C3,U+03C4,"
    "U+2009,U+200A,U+2010-2015,U+2018-201E,U+2020-2022,U+2026,U+202F,U+2030,U+2032,U+2033,U+2039,U+203A,U+2044,"
    "U+2070,U+2074-208E,U+20A9,U+20AC,U+20BF,U+2122,U+2190-2199,U+21A9,U+21AA,U+21B5,U+21BA,U+21BB,U+21E7,U+2318,"
    "U+2202,U+2206,U+220F,U+2211,U+2212,U+2215,U+2219,U+221A,U+221E,U+2248,U+2260,U+2264,U+2265,"
    "U+25A0,U+25A1,U+25B2,U+25B3,U+25B6,U+25B7,U+25BA,U+25BC,U+25BD,U+25C0,U+25C6,U+25C7,U+25CA,U+25CB,U+25CF,"
    "U+2605,U+2606,U+26A0,U+2713,U+2717"
)
FEATURES = ["kern", "mark", "mkmk", "ccmp", "locl", "tnum"]


def add(font, name, code, draw, advance):
    """Adds one glyph drawn by `draw(pen)` at character `code`."""
    pen = TTGlyphPen(font.getGlyphSet())
    draw(pen)
    font.setGlyphOrder(font.getGlyphOrder() + [name])
    font["glyf"][name] = pen.glyph()
    glyph = font["glyf"][name]
    glyph.recalcBounds(font["glyf"])
    font["hmtx"][name] = (advance, glyph.xMin)
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap[code] = name


def main(source, target):
    for weight in ["Regular", "Medium", "SemiBold"]:
        options = subset.Options()
        options.hinting = False
        options.notdef_outline = True
        options.layout_features = FEATURES
        options.name_IDs = ["*"]
        options.drop_tables += ["DSIG", "STAT"]
        options.recalc_timestamp = False
        font = TTFont(Path(source) / f"Inter-{weight}.woff2", recalcTimestamp=False)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=subset.parse_unicodes(CHARACTERS))
        subsetter.subset(font)
        font.flavor = None

        # Figures of one width as the default: numbers in tables and readouts must not jitter.
        tabular = {}
        for lookup in font["GSUB"].table.LookupList.Lookup:
            for table in lookup.SubTable:
                for plain, swapped in getattr(table, "mapping", {}).items():
                    if swapped.endswith(".tf") or swapped.endswith(".tnum"):
                        tabular[plain] = swapped
        digits = {code: tabular[font.getBestCmap()[code]] for code in range(0x30, 0x3A)}
        for table in font["cmap"].tables:
            if table.isUnicode():
                table.cmap.update(digits)

        # Inter has neither of these; the app's labels use both.
        names, glyphs = font.getBestCmap(), font.getGlyphSet()
        right, left = names[0x2192], names[0x2190]
        advance = font["hmtx"][right][0]
        rise = round(font["head"].unitsPerEm * 0.15)

        def exchange(pen):
            glyphs[right].draw(TransformPen(pen, (0.86, 0, 0, 0.86, advance * 0.07, rise + advance * 0.04)))
            glyphs[left].draw(TransformPen(pen, (0.86, 0, 0, 0.86, advance * 0.07, -rise + advance * 0.04)))

        times = names[0x00D7]
        add(font, "uni21C4", 0x21C4, exchange, advance)
        add(font, "uni2715", 0x2715, lambda pen: glyphs[times].draw(pen), font["hmtx"][times][0])
        font.save(Path(target) / f"Inter-{weight}.ttf")


main(*sys.argv[1:])
