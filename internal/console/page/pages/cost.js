// What models have cost: by day, agent, model and person, and what budgets have left.
import { html, useEffect, useMemo, useRef, useState } from '../vendor/preact-htm.js'
import { useData } from '../api.js'
import { Bar, Card, Empty, Loaded, Page } from '../ui.js'
import { dollars, money, shortDay } from '../format.js'

export function Cost() {
  const [days, setDays] = useState(14)
  const cost = useData('costs', { query: { days, people: true }, every: 60_000 })
  return html`<${Page} title="Cost" actions=${html`<div class="chips" role="group" aria-label="Period">${[7, 14, 30].map((n) => html`<button key=${n} type="button" class="chip" aria-pressed=${days === n} onClick=${() => setDays(n)}>${n} days</button>`)}</div>`}>
    <${Loaded} of=${cost}>${(c) => html`<${Shown} cost=${c} days=${days} />`}<//>
  <//>`
}

// groups adds rows up by one of their fields, the most spent first.
function groups(rows, by) {
  const all = new Map()
  for (const r of rows) all.set(r[by] || 'unknown', (all.get(r[by] || 'unknown') ?? 0) + (r.spent ?? 0))
  return [...all].map(([key, spent]) => ({ key, spent })).sort((a, b) => b.spent - a.spent)
}

const dayOf = (t) => new Date(t).toISOString().slice(0, 10)
const sumOf = (rows) => rows.reduce((n, r) => n + (r.spent ?? 0), 0)
const spans = { day: 'today', month: 'this month' }

function Shown({ cost, days }) {
  const rows = cost.agents ?? [], sum = sumOf(rows)
  const before = sumOf(rows.filter((r) => r.day === dayOf(Date.now() - 86_400_000)))
  return html`<div class="tiles"><div class="tile"><b>${money(sumOf(rows.filter((r) => r.day === dayOf(Date.now()))))}</b><span>today (UTC)</span></div><div class="tile"><b>${money(before)}</b><span>yesterday</span></div>
      <div class="tile"><b>${money(sum)}</b><span>in ${days} days</span></div><div class="tile"><b>${money(sum / days)}</b><span>a day on average</span></div></div>
    ${sum > 0 ? html`<${Card} title="By day"><${Days} rows=${rows} days=${days} /><//>` : html`<${Empty} title="Nothing was spent">No model was called in these ${days} days, or none has a price in the configuration.<//>`}
    ${cost.budgets?.length > 0 && html`<${Card} title="Budgets"><div class="budgets">${cost.budgets.map((b) => html`<div class="budget" key=${b.agent + '/' + b.span}><p class="line"><b>${b.agent}</b><span class="soft">${spans[b.span] ?? b.span}</span><span class="push num">${money(b.spent)} of ${money(b.limit)}</span></p>
      <${Bar} part=${b.spent / b.limit} kind=${b.left <= 0 ? 'bad' : b.spent > 0.8 * b.limit ? 'warn' : ''} /><p class="soft small">${b.left <= 0 ? 'used up' : money(b.left) + ' left'}</p></div>`)}</div><//>`}
    <div class="columns three">${[['agents', 'agent', 'By agent'], ['models', 'model', 'By model'], ['people', 'person', 'By person']].map(([of, by, title]) => html`<${Group} key=${by} title=${title} list=${groups(cost[of] ?? [], by).filter((g) => g.spent > 0)} />`)}</div>
    ${cost.more && html`<p class="soft small">The logs are too long to add all of them up by person.</p>`}`
}

function Group({ title, list }) {
  if (!list.length) return null
  return html`<${Card} title=${title}><ul class="ranks">${list.slice(0, 12).map((g) => html`<li key=${g.key}><p class="line"><b>${g.key}</b><span class="push num">${money(g.spent)}</span></p><${Bar} part=${g.spent / list[0].spent} /></li>`)}</ul><//>`
}

const colours = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6']

// Days is the cost of each day, the agents above each other.
function Days({ rows, days }) {
  const box = useRef()
  const series = useMemo(() => {
    const list = [], from = Date.now() - (days - 1) * 86_400_000
    for (let i = 0; i < days; i++) list.push(dayOf(from + i * 86_400_000))
    const top = groups(rows, 'agent').slice(0, colours.length - 1).map((g) => g.key)
    const names = [...top, ...(groups(rows, 'agent').length > top.length ? ['others'] : [])]
    const values = names.map(() => list.map(() => 0))
    for (const r of rows) {
      const d = list.indexOf(r.day)
      if (d < 0) continue
      const i = top.includes(r.agent) ? top.indexOf(r.agent) : names.length - 1
      values[i][d] += dollars(r.spent)
    }
    return { list, names, values }
  }, [rows, days])
  useEffect(() => {
    const style = getComputedStyle(document.documentElement)
    const colour = (name) => style.getPropertyValue(name).trim()
    const { list, names, values } = series
    const stacked = values.map((_, i) => list.map((_, d) => values.slice(0, i + 1).reduce((n, v) => n + v[d], 0)))
    const bars = uPlot.paths.bars({ size: [0.62, 46], radius: 0.12 })
    const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' }
    const make = () => new uPlot({
      width: box.current.clientWidth, height: 210, padding: [6, 4, 0, 0], legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, range: [-0.6, list.length - 0.4] }, y: { range: (_, __, most) => [0, (most || 0.01) * 1.1] } },
      axes: [{ ...axis, size: 28, grid: { show: false }, splits: () => list.map((_, i) => i).filter((i) => (list.length - 1 - i) % Math.ceil(list.length / (box.current.clientWidth < 500 ? 4 : 8)) === 0), values: (_, at) => at.map((i) => list[i] && shortDay(list[i])) },
        { ...axis, size: 62, values: (_, at) => at.map((v) => '$' + (v >= 10 ? v.toFixed(0) : v.toFixed(2))) }],
      series: [{}, ...names.map((_, i) => names.length - 1 - i).map((i) => ({ fill: colour(colours[i]), stroke: colour(colours[i]), width: 0, paths: bars, points: { show: false } }))],
    }, [list.map((_, i) => i), ...names.map((_, i) => stacked[names.length - 1 - i])], box.current)
    let plot = make()
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const again = () => { plot.destroy(); plot = make() }
    const watcher = new ResizeObserver(() => { if (plot.width !== box.current.clientWidth) plot.setSize({ width: box.current.clientWidth, height: 210 }) })
    watcher.observe(box.current)
    dark.addEventListener('change', again)
    return () => { watcher.disconnect(); dark.removeEventListener('change', again); plot.destroy() }
  }, [series])
  const { list, names, values } = series
  return html`<ul class="legend">${names.map((n, i) => html`<li key=${n}><i class=${'c' + (i + 1)}></i>${n}</li>`)}</ul><div class="plot" ref=${box} aria-hidden="true"></div>
    <div class="unseen"><table><caption>Cost by day</caption><thead><tr><th scope="col">Day</th>${names.map((n) => html`<th scope="col">${n}</th>`)}</tr></thead><tbody>${list.map((d, i) => html`<tr key=${d}><th scope="row">${d}</th>${values.map((v) => html`<td>${v[i].toFixed(4)}</td>`)}</tr>`)}</tbody></table></div>`
}
