import { dayText } from './format.ts'
import { type Html, html } from './html.ts'

const HEIGHT = 100
const STEP = 10
const GAP = 2
/** The gap between bars that have an earlier value behind them. */
const NARROW_GAP = 5
/** A day's label is positioned in tenths of the chart's width. */
const PLACES = 10

interface Chart {
  name: string
  /** The formatted total. */
  total: string
  /** Shown next to the total, such as the change since the period before. */
  note?: Html | string
  dates: string[]
  values: number[]
  /** The earlier period's values, drawn as wide pale bars behind the others. */
  before?: number[]
  show: (value: number) => string
  /** A shorter form for the axis. */
  tick?: (value: number) => string
}

/** Rounds up to 1, 2, 2.5, or 5 times a power of ten. */
function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 2.5, 5].find((factor) => factor * power >= value) ?? 10) * power
}

/** The ends of the axis. If all values are zero, it runs from zero to one. */
function scaleOf(values: number[]): { top: number; low: number } {
  const [most, least] = [Math.max(0, ...values), Math.min(0, ...values)]
  return { top: most > 0 || least === 0 ? Math.max(1, ceiling(most || 1)) : 0, low: least < 0 ? -ceiling(-least) : 0 }
}

/**
 * A bar chart with one bar per day, an axis, and the value of each day on hover and on focus. A table on the same page
 * contains the numbers for screen readers.
 */
export function chart({ name, total, note, dates, values, before = [], show, tick = show }: Chart): Html {
  const { top, low } = scaleOf([...values, ...before])
  const y = (value: number) => ((top - value) / (top - low)) * HEIGHT
  const barsOf = (values: number[], kind: string, gap: number) =>
    values.map((value, index) => {
      const [from, to] = [y(Math.max(0, value)), y(Math.min(0, value))]
      // Even the smallest nonzero value stays visible.
      const height = value === 0 ? 0 : Math.max(1, to - from)
      return html`<rect class="${kind}" x="${index * STEP + gap / 2}" y="${from.toFixed(2)}" width="${STEP - gap}" height="${height.toFixed(2)}"></rect>`
    })
  const width = Math.max(1, values.length) * STEP
  // Without earlier values, there is nothing to compare.
  const earlierValues = before.some((value) => value !== 0) ? before : []
  // No middle tick at 0.5: counts are integers.
  const middle = top > 1 ? [top / 2] : []
  const ticks = low < 0 ? [top, 0, low] : [top, ...middle, 0]
  const marks = values.map((value, index) => {
    const place = Math.round(((index + 0.5) / values.length) * PLACES)
    const earlier = before[index]
    const text = `${dayText(dates[index] ?? '')}: ${show(value)}${earlier === undefined ? '' : ` (before: ${show(earlier)})`}`
    return html`<li tabindex="-1"><span class="tip at-${place}">${text}</span></li>`
  })
  return html`<figure class="chart"><figcaption><span>${name}<strong>${total}</strong></span>${note ? html`<span>${note}</span>` : ''}</figcaption>
<div class="plot"><div class="ticks" aria-hidden="true">${ticks.map((value) => html`<span>${tick(value)}</span>`)}</div>
<div class="field-of"><svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${`${name} per day, at most ${show(Math.max(0, ...values))}`}">
${ticks.map((value) => html`<line class="grid-line" x1="0" x2="${width}" y1="${y(value)}" y2="${y(value)}"></line>`)}
<line class="axis" x1="0" x2="${width}" y1="${y(0)}" y2="${y(0)}"></line>${barsOf(earlierValues, 'bar before', GAP)}${barsOf(values, 'bar', earlierValues.length ? NARROW_GAP : GAP)}</svg>
<ol class="marks" aria-label="${`${name} by day`}">${marks}</ol></div>
<div class="ends" aria-hidden="true">${ticksOf(dates).map((date) => html`<span>${shortDay(date)}</span>`)}</div></div></figure>`
}

/** The first, the middle and the last day. */
const ticksOf = (dates: string[]): string[] =>
  [...new Set([0, (dates.length - 1) >> 1, dates.length - 1])].flatMap((index) => dates[index] ?? [])

/** A day without its year, which each day's own label shows. */
const shortDay = (date: string): string => dayText(date).replace(/, \d+$/, '')

/** An amount under the current terms and under the proposed ones. */
export interface Pair {
  name: Html | string
  current: number
  proposed: number
}

/** A chart with two bars per pair, with the amounts beside them. All bars share one scale. */
export function pairChart(
  { name, total, note }: Pick<Chart, 'name' | 'note'> & { total?: string },
  pairs: Pair[],
  show: (value: number) => string,
): Html {
  const most = Math.max(1, ...pairs.flatMap(({ current, proposed }) => [current, proposed].map(Math.abs)))
  const bar = (value: number, y: number, kind: string) =>
    html`<rect class="${kind}" x="0" y="${y}" width="${((Math.abs(value) / most) * 200).toFixed(1)}" height="10"></rect>`
  return html`<figure class="chart"><figcaption><span>${name}${total ? html`<strong>${total}</strong>` : ''}</span>${note ? html`<span>${note}</span>` : ''}</figcaption>
<ul class="pairs">${pairs.map(
    ({ name: label, current, proposed }) =>
      html`<li><span>${label}</span><svg viewBox="0 0 200 24" preserveAspectRatio="none" aria-hidden="true">${bar(current, 1, 'bar')}${bar(proposed, 13, 'bar second')}</svg><span class="values"><span>${show(current)}</span><span>${show(proposed)}</span></span></li>`,
  )}</ul></figure>`
}

/** How a sum changed since the period before. A change from zero has no percentage. */
export function change(now: number, before: number): Html {
  if (now === before) return html`<span class="delta">no change</span>`
  if (before <= 0)
    return html`<span class="delta${now > before ? ' up' : ' down'}">${now > before ? '▲ new' : '▼'}</span>`
  const percent = ((now - before) / before) * 100
  const text = Math.abs(percent) >= 1000 ? '> 999' : Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 1 : 0)
  return html`<span class="delta${percent > 0 ? ' up' : ' down'}">${percent > 0 ? '▲' : '▼'} ${text}%</span>`
}
