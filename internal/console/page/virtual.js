// A list that has only those rows in the page that are seen, however many there are.
// Rows may have any height: what is not measured yet is estimated.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor/preact-htm.js'

const beyond = 500 // pixels above and below what is seen

export function VirtualList({ items, keyOf, estimate = 56, row, label, nearEnd, follow, target, className = '' }) {
  const box = useRef(), inner = useRef()
  const heights = useRef(new Map())
  const pinned = useRef(!!follow)
  const [view, setView] = useState({ top: 0, height: 900 })
  const [version, changed] = useState(0)

  const offsets = useMemo(() => {
    const list = new Float64Array(items.length + 1)
    for (let i = 0; i < items.length; i++) list[i + 1] = list[i] + (heights.current.get(keyOf(items[i])) ?? estimate)
    return list
  }, [items, version])
  const total = offsets[items.length]
  const first = Math.max(0, find(offsets, view.top - beyond))
  const last = Math.min(items.length, find(offsets, view.top + view.height + beyond) + 1)
  const seen = items.slice(first, last)

  const measure = () => {
    let shift = 0, different = false
    const top = box.current.scrollTop
    for (const e of inner.current.children) {
      const i = +e.dataset.index, key = keyOf(items[i] ?? {})
      if (!items[i]) continue
      const height = e.offsetHeight, known = heights.current.get(key) ?? estimate
      if (height === 0 || Math.abs(height - known) < 1) { heights.current.set(key, known); continue }
      heights.current.set(key, height)
      different = true
      if (offsets[i] + known <= top) shift += height - known
    }
    if (!different) return
    changed((n) => n + 1)
    if (shift && !pinned.current) box.current.scrollTop = top + shift
  }
  // A row that has the focus may go as the list is scrolled: then the list has it, and the next key scrolls on.
  const focused = !!inner.current?.contains(document.activeElement)
  useLayoutEffect(() => {
    if (focused && (document.activeElement ?? document.body) === document.body) box.current.focus({ preventScroll: true })
  })

  const latest = useRef(measure)
  latest.current = measure

  useLayoutEffect(() => { measure() })
  useLayoutEffect(() => {
    if (pinned.current && follow) box.current.scrollTop = box.current.scrollHeight
  }, [total, follow])
  useEffect(() => {
    const watcher = new ResizeObserver(() => {
      setView((v) => ({ ...v, height: box.current?.clientHeight ?? v.height }))
      if (box.current) latest.current()
    })
    watcher.observe(box.current)
    watcher.observe(inner.current)
    return () => watcher.disconnect()
  }, [])
  useEffect(() => { if (nearEnd && last >= items.length - 20) nearEnd() }, [last, items.length])
  useEffect(() => {
    const i = target === undefined ? -1 : items.findIndex((x) => keyOf(x) === target)
    if (i < 0) return
    pinned.current = false
    box.current.scrollTop = Math.max(0, offsets[i] - 80)
  }, [target, items.length > 0])

  const waits = useRef(false)
  const scrolled = () => {
    if (waits.current) return
    waits.current = true
    requestAnimationFrame(() => {
      waits.current = false
      const b = box.current
      if (!b) return
      pinned.current = b.scrollHeight - b.scrollTop - b.clientHeight < 40
      setView({ top: b.scrollTop, height: b.clientHeight })
    })
  }
  return html`<div class=${'virtual ' + className} ref=${box} onScroll=${scrolled} tabindex="0" role="region" aria-label=${label}>
    <div ref=${inner} role="list" style=${{ paddingTop: offsets[first] + 'px', paddingBottom: Math.max(0, total - offsets[last]) + 'px' }}>
      ${seen.map((item, i) => html`<div role="listitem" class="virtual-row" key=${keyOf(item)} data-index=${first + i} aria-setsize=${items.length} aria-posinset=${first + i + 1}>${row(item, first + i)}</div>`)}
    </div>
  </div>`
}

// find is the last place whose offset is not above y.
function find(offsets, y) {
  let low = 0, high = offsets.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (offsets[middle] <= y) low = middle
    else high = middle - 1
  }
  return low
}
