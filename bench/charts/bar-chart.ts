import type { Mark, Spec } from "vega";
import { colours, margin, type SheetText, sheet, sheetWidth, textMark } from "./sheet.js";

/** Horizontal bars, in panels one below the other, each with an axis of its own from zero. */
export interface BarChart extends SheetText {
  readonly panels: readonly BarPanel[];
}

export interface BarPanel {
  /** What its bars have in common. */
  readonly heading: string;
  /** What the length of a bar is, with its unit, and whether more or less of it is better. */
  readonly axis: string;
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly name: string;
  /** Stands below the name, smaller: its durability, say. May be empty. */
  readonly note: string;
  /** The length. */
  readonly value: number;
  /** Stands at the end of the bar. */
  readonly label: string;
  /** Whether it stands out from the others. */
  readonly emphasis: boolean;
}

/** Pixels. */
const headingHeight = 26;
const barStep = 36;
const axisHeight = 54;
const namesWidth = 340;
const labelsWidth = 175;
const plotWidth = sheetWidth - 2 * margin - namesWidth - labelsWidth;

export function barChartSpec(chart: BarChart): Spec {
  const marks: Mark[] = [];
  let y = 0;
  for (const panel of chart.panels) {
    const height = panel.bars.length * barStep;
    marks.push(textMark(panel.heading, { x: 0, y: y + 14, size: 13, bold: true }));
    marks.push(bars(panel, y + headingHeight, height));
    marks.push(
      textMark(panel.axis, {
        x: namesWidth + plotWidth / 2,
        y: y + headingHeight + height + 34,
        size: 11,
        colour: colours.quiet,
        align: "center",
      }),
    );
    y += headingHeight + height + axisHeight;
  }
  return sheet(chart, marks, y);
}

function bars({ bars }: BarPanel, y: number, height: number): Mark {
  const most = Math.max(...bars.map(({ value }) => value), 0);
  return {
    type: "group",
    encode: {
      enter: { x: { value: namesWidth }, y: { value: y }, width: { value: plotWidth }, height: { value: height } },
    },
    // The grid's lines are as long as this group is high, not as the sheet is.
    signals: [{ name: "height", value: height }],
    scales: [{ name: "length", type: "linear", domain: [0, most || 1], range: [0, plotWidth] }],
    axes: [
      {
        orient: "bottom",
        scale: "length",
        tickCount: 4,
        grid: true,
        gridColor: colours.grid,
        domain: false,
        ticks: false,
        labelColor: colours.quiet,
        labelFontSize: 11,
        labelPadding: 6,
        labelOverlap: false,
        labelBound: false,
        labelFlush: false,
        format: ",~f",
      },
    ],
    marks: bars.flatMap((bar, index) => oneBar(bar, index * barStep)),
  };
}

function oneBar({ name, note, value, label, emphasis }: Bar, y: number): Mark[] {
  return [
    textMark(name, { x: -10, y: y + (note === "" ? 22 : 16), align: "right", bold: emphasis }),
    ...(note === "" ? [] : [textMark(note, { x: -10, y: y + 29, size: 10, colour: colours.quiet, align: "right" })]),
    {
      type: "rect",
      encode: {
        enter: {
          x: { scale: "length", value: 0 },
          x2: { scale: "length", value },
          y: { value: y + 8 },
          height: { value: barStep - 16 },
          fill: { value: emphasis ? colours.ours : colours.others },
        },
      },
    },
    {
      type: "text",
      encode: {
        enter: {
          text: { value: label },
          x: { scale: "length", value, offset: 7 },
          y: { value: y + barStep / 2 },
          fontWeight: { value: emphasis ? "bold" : "normal" },
          baseline: { value: "middle" },
        },
      },
    },
  ];
}
