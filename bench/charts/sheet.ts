import { type Mark, parse, type Spec, View } from "vega";

/** What stands around every chart. */
export interface SheetText {
  readonly title: string;
  /** What a reader must know to read the chart, a line each. */
  readonly subtitle: readonly string[];
  /** Where and when it was measured, and what speaks against the numbers, a line each. */
  readonly foot: readonly string[];
}

/** The colours of all charts, on white: a page that is dark does not shine through. */
export const colours = {
  paper: "#ffffff",
  text: "#1f2328",
  quiet: "#57606a",
  grid: "#d8dee4",
  ours: "#0b6bcb",
  others: "#9aa4af",
} as const;

/** Between the edge and all that is drawn, in pixels. */
export const margin = 24;
export const sheetWidth = 900;

const font = "Helvetica, Arial, sans-serif";
const lineHeight = 17;
const titleHeight = 30;

/**
 * Puts a chart on a white sheet between its title and its foot.
 *
 * Nothing is placed by the width of a text, since that depends on the fonts that are there: the same numbers must give
 * the same file everywhere.
 *
 * @param marks what is drawn, from the top left corner of an area that is as wide as the sheet less its margins
 * @param height of that area in pixels
 */
export function sheet(text: SheetText, marks: readonly Mark[], height: number): Spec {
  const top = margin + titleHeight + text.subtitle.length * lineHeight + 10;
  const foot = top + height + 12;
  return {
    background: colours.paper,
    width: sheetWidth,
    height: foot + text.foot.length * lineHeight + margin - 8,
    padding: 0,
    autosize: "none",
    config: { style: { "guide-label": { font } }, text: { font, fontSize: 12, fill: colours.text } },
    marks: [
      textMark(text.title, { x: margin, y: margin + 16, size: 18, bold: true }),
      ...text.subtitle.map((line, index) =>
        textMark(line, { x: margin, y: margin + titleHeight + 10 + index * lineHeight, colour: colours.quiet }),
      ),
      {
        type: "group",
        encode: { enter: { x: { value: margin }, y: { value: top } } },
        marks: [...marks],
      },
      ...text.foot.map((line, index) =>
        textMark(line, { x: margin, y: foot + 12 + index * lineHeight, size: 11, colour: colours.quiet }),
      ),
    ],
  };
}

interface TextPlace {
  readonly x: number;
  /** Of the base line. */
  readonly y: number;
  readonly size?: number;
  readonly bold?: boolean;
  readonly colour?: string;
  readonly align?: "left" | "center" | "right";
}

/** One line of text. */
export function textMark(text: string, place: TextPlace): Mark {
  const { x, y, size = 12, bold = false, colour = colours.text, align = "left" } = place;
  return {
    type: "text",
    encode: {
      enter: {
        text: { value: text },
        x: { value: x },
        y: { value: y },
        fontSize: { value: size },
        fontWeight: { value: bold ? "bold" : "normal" },
        fill: { value: colour },
        align: { value: align },
        baseline: { value: "alphabetic" },
      },
    },
  };
}

/** Draws, without a browser. */
export async function svgOf(spec: Spec): Promise<string> {
  const view = new View(parse(spec), { renderer: "none" });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}
