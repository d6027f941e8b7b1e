import { type Html, html } from './html.ts'
import { day } from './show.ts'

const HEIGHT = 100
const STEP = 10
const GAP = 2

interface Chart {
  name: string
  /** The formatted sum of all values. */
  total: string
  dates: string[]
  values: number[]
  show: (value: number) => string
}

/** A bar chart with one bar per day. A table on the same page contains the numbers for screen readers. */
export function chart({ name, total, dates, values, show }: Chart): Html {
  const top = Math.max(0, ...values)
  const low = Math.min(0, ...values)
  const span = top - low || 1
  const y = (value: number) => ((top - value) / span) * HEIGHT
  const bars = values.map((value, index) => {
    const [from, to] = [y(Math.max(0, value)), y(Math.min(0, value))]
    // A nonzero value stays visible, however small.
    const height = value === 0 ? 0 : Math.max(1, to - from)
    return html`<rect class="bar" x="${index * STEP + GAP / 2}" y="${from.toFixed(2)}" width="${STEP - GAP}" height="${height.toFixed(2)}"><title>${dates[index]}: ${show(value)}</title></rect>`
  })
  const width = values.length * STEP
  return html`<figure class="chart"><figcaption><span>${name}</span> <strong>${total}</strong></figcaption>
<div class="plot"><span class="top" aria-hidden="true">${show(top)}</span>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${`${name} per day; at most ${show(top)}`}">
<line class="axis" x1="0" x2="${width}" y1="${y(0)}" y2="${y(0)}"></line>${bars}</svg></div>
<div class="ends" aria-hidden="true">${day(dates[0] ?? '')}${day(dates.at(-1) ?? '')}</div></figure>`
}
