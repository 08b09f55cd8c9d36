// Attribute names with a hyphen that exist: TypeScript checks every other name itself, but accepts any name with a hyphen.

const hyphenated = new Set(
  (
    'accept-charset http-equiv ' +
    // SVG presentation attributes, which React also knows in camel case
    'accent-height alignment-baseline arabic-form baseline-shift cap-height clip-path clip-rule color-interpolation ' +
    'color-interpolation-filters color-profile color-rendering dominant-baseline enable-background fill-opacity fill-rule ' +
    'flood-color flood-opacity font-family font-size font-size-adjust font-stretch font-style font-variant font-weight ' +
    'glyph-name glyph-orientation-horizontal glyph-orientation-vertical horiz-adv-x horiz-origin-x image-rendering ' +
    'letter-spacing lighting-color marker-end marker-mid marker-start overline-position overline-thickness paint-order ' +
    'panose-1 pointer-events rendering-intent shape-rendering stop-color stop-opacity strikethrough-position ' +
    'strikethrough-thickness stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit ' +
    'stroke-opacity stroke-width text-anchor text-decoration text-rendering transform-origin underline-position ' +
    'underline-thickness unicode-bidi unicode-range units-per-em v-alphabetic v-hanging v-ideographic v-mathematical ' +
    'vector-effect vert-adv-y vert-origin-x vert-origin-y word-spacing writing-mode x-height'
  ).split(' '),
)

const aria = new Set(
  (
    'activedescendant atomic autocomplete braillelabel brailleroledescription busy checked colcount colindex colindextext ' +
    'colspan controls current describedby description details disabled dropeffect errormessage expanded flowto grabbed ' +
    'haspopup hidden invalid keyshortcuts label labelledby level live modal multiline multiselectable orientation owns ' +
    'placeholder posinset pressed readonly relevant required roledescription rowcount rowindex rowindextext rowspan ' +
    'selected setsize sort valuemax valuemin valuenow valuetext'
  ).split(' '),
)

/** Whether a hyphenated attribute name means something: `data-*`, a real `aria-*`, or a name of HTML or SVG. */
export function isKnownAttribute(name: string): boolean {
  const lower = name.toLowerCase()
  if (lower.startsWith('data-')) return /^data-[a-z0-9_.-]+$/.test(lower)
  if (lower.startsWith('aria-')) return aria.has(lower.slice('aria-'.length))
  return hyphenated.has(lower)
}
