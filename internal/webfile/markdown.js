// Markdown as elements. Text becomes text nodes only, so nothing that a model, a tool
// or a person says can be markup of the page.

const deepest = 8 // of quotes and lists in each other

// show renders text into an element. Of a text that has grown only the last blocks
// are made again.
export function show(element, text) {
  const shown = element.shown ??= []
  const next = blocks(text.replace(/\r\n?/g, '\n').split('\n'))
  let same = 0
  while (same < shown.length && same < next.length && shown[same].source === next[same].source) same++
  for (const old of shown.splice(same)) old.node.remove()
  for (const block of next.slice(same)) {
    const node = build(block, 0)
    shown.push({ source: block.source, node })
    element.append(node)
  }
}

export function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) e.setAttribute(name, '')
    else if (value !== false && value !== undefined && value !== null) e.setAttribute(name, value)
  }
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== false))
  return e
}

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/
const rule = /^ {0,3}([-*_])( *\1){2,} *$/
const quote = /^ {0,3}> ?/
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])(?: +|$)/
const separator = /^ {0,3}\|? *:?-+:? *(\| *:?-+:? *)*\|? *$/

function isTable(lines, i) {
  return lines[i].includes('|') && i + 1 < lines.length && lines[i + 1].includes('-') && separator.test(lines[i + 1]) &&
    cells(lines[i]).length === cells(lines[i + 1]).length
}

function starts(lines, i) {
  const l = lines[i]
  return !l.trim() || fence.test(l) || heading.test(l) || rule.test(l) || quote.test(l) || bullet.test(l) || isTable(lines, i)
}

// blocks splits lines into blocks, each with its source.
function blocks(lines) {
  const list = []
  for (let i = 0; i < lines.length;) {
    if (!lines[i].trim()) { i++; continue }
    const from = i
    const block = take(lines, i)
    i = block.end
    block.source = block.kind + '\n' + lines.slice(from, i).join('\n') + (block.open ? '' : '\n')
    list.push(block)
  }
  return list
}

function take(lines, i) {
  const line = lines[i]
  let m
  if ((m = fence.exec(line))) return takeCode(lines, i, m)
  if ((m = heading.exec(line))) return { kind: 'heading', level: m[1].length, text: m[2], end: i + 1 }
  if (rule.test(line)) return { kind: 'rule', end: i + 1 }
  if (quote.test(line)) {
    const inner = []
    while (i < lines.length && lines[i].trim() && (quote.test(lines[i]) || !starts(lines, i))) inner.push(lines[i++].replace(quote, ''))
    return { kind: 'quote', inner, end: i }
  }
  if (bullet.test(line)) return takeList(lines, i)
  if (isTable(lines, i)) {
    const rows = [cells(line)]
    for (i += 2; i < lines.length && lines[i].includes('|') && lines[i].trim(); i++) rows.push(cells(lines[i]))
    return { kind: 'table', rows, end: i }
  }
  const text = [line]
  for (i++; i < lines.length && !starts(lines, i); i++) text.push(lines[i])
  return { kind: 'paragraph', text: text.map((l) => l.trimStart()).join('\n'), end: i }
}

function takeCode(lines, i, m) {
  const text = []
  for (i++; i < lines.length; i++) {
    const t = lines[i].trim()
    if (t.length >= m[1].length && t.replaceAll(m[1][0], '') === '') return { kind: 'code', language: m[2], text: text.join('\n'), end: i + 1 }
    text.push(lines[i])
  }
  return { kind: 'code', language: m[2], text: text.join('\n'), end: i, open: true }
}

function takeList(lines, i) {
  const first = bullet.exec(lines[i])[2]
  const numbered = /\d/.test(first)
  const items = []
  while (i < lines.length) {
    const m = bullet.exec(lines[i])
    if (!m || /\d/.test(m[2]) !== numbered || rule.test(lines[i])) break
    const width = Math.max(2, m[0].length)
    const inner = [lines[i].slice(m[0].length)]
    for (i++; i < lines.length; i++) {
      const indent = lines[i].length - lines[i].trimStart().length
      if (!lines[i].trim()) {
        const next = lines[i + 1] ?? ''
        if (next.trim() && next.length - next.trimStart().length >= 2) { inner.push(''); continue }
        break
      }
      if (indent >= 2) inner.push(lines[i].slice(Math.min(indent, width)))
      else if (!starts(lines, i)) inner.push(lines[i])
      else break
    }
    items.push(inner)
    while (i + 1 < lines.length && !lines[i].trim() && bullet.test(lines[i + 1])) i++
  }
  return { kind: 'list', numbered, start: parseInt(first, 10), items, end: i }
}

function cells(line) {
  return line.trim().replace(/^\|/, '').replace(/\|$/, '').split('|').map((c) => c.trim())
}

// build makes the element of a block. One that stands in no other has the direction of
// its own first letter, code always from left to right.
function build(block, depth) {
  const dir = depth === 0 ? 'auto' : undefined
  const inside = (lines) => depth < deepest ? blocks(lines).map((b) => build(b, depth + 1)) : [document.createTextNode(lines.join('\n'))]
  switch (block.kind) {
    case 'heading': return make('h' + Math.min(6, block.level + 2), { dir }, ...inline(block.text))
    case 'rule': return make('hr')
    case 'quote': return make('blockquote', { dir }, ...inside(block.inner))
    case 'code': return code(block)
    case 'table': return table(block, dir)
    case 'list': {
      const list = make(block.numbered ? 'ol' : 'ul', { dir, start: block.numbered && block.start !== 1 && block.start })
      for (const lines of block.items) {
        const parts = inside(lines)
        if (parts[0]?.tagName === 'P') parts.splice(0, 1, ...parts[0].childNodes)
        list.append(make('li', {}, ...parts))
      }
      return list
    }
  }
  return make('p', { dir }, ...inline(block.text))
}

function code(block) {
  const copy = make('button', { type: 'button', class: 'copy' }, 'Copy')
  copy.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(block.text)
      copy.textContent = 'Copied'
    } catch { copy.textContent = 'Not allowed here' }
    setTimeout(() => { copy.textContent = 'Copy' }, 2000)
  })
  return make('figure', { class: 'code', dir: 'ltr' }, make('figcaption', {}, make('span', {}, block.language || 'text'), copy),
    make('pre', { tabindex: '0', 'aria-label': 'Code' }, make('code', {}, block.text)))
}

function table(block, dir) {
  const [head, ...rows] = block.rows
  return make('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': 'Table' }, make('table', { dir },
    make('thead', {}, make('tr', {}, ...head.map((c) => make('th', { scope: 'col' }, ...inline(c))))),
    make('tbody', {}, ...rows.map((r) => make('tr', {}, ...head.map((_, i) => make('td', {}, ...inline(r[i] ?? ''))))))))
}

// The marks within a line. Each is found from its place on, and none looks further
// than its own end.
const marks = [
  [/\\([!-/:-@[-`{-~])/y, (m) => m[1]],
  [/(`+)([^`]|[^`][^]*?[^`])\1(?!`)/y, (m) => make('code', {}, m[2].replace(/\n/g, ' ').replace(/^ (.*) $/, '$1'))],
  [/!?\[([^[\]]{0,1000})\]\(\s*<?([^()\s<>]{1,2000}(?:\([^()\s<>]{0,200}\))?[^()\s<>]{0,2000})>?(?:\s+"[^"]{0,200}")?\s*\)/y, (m, d) => link(m[2], inline(m[1] || m[2], d + 1), m[0])],
  [/<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y, (m) => link(m[1], [m[1]], m[0])],
  [/https?:\/\/[^\s<>()[\]"']{2,2000}/y, (m) => { const u = m[0].replace(/[.,;:!?*_~]+$/, ''); return [link(u, [u], u), m[0].slice(u.length)] }],
  [/\*\*(?=\S)([^]{1,2000}?\S)\*\*/y, (m, d) => make('strong', {}, ...inline(m[1], d + 1))],
  [/__(?=\S)([^]{1,2000}?\S)__(?!\w)/y, (m, d) => make('strong', {}, ...inline(m[1], d + 1))],
  [/~~(?=\S)([^]{1,2000}?\S)~~/y, (m, d) => make('del', {}, ...inline(m[1], d + 1))],
  [/\*(?=[^\s*])([^*]{1,2000}?)\*(?!\*)/y, (m, d) => make('em', {}, ...inline(m[1], d + 1))],
  [/_(?=[^\s_])([^_]{1,2000}?)_(?!\w)/y, (m, d) => make('em', {}, ...inline(m[1], d + 1))],
  [/(?: {2,}|\\)\n/y, () => make('br')],
]
const mayStart = new Set(['\\', '`', '!', '[', '<', 'h', '*', '_', '~', ' '])

function inline(text, depth = 0) {
  if (depth > deepest) return [text]
  const out = []
  let plain = ''
  for (let i = 0; i < text.length;) {
    const found = mayStart.has(text[i]) && !(text[i] === '_' && /\w/.test(text[i - 1] ?? '')) && mark(text, i, depth)
    if (!found) { plain += text[i++]; continue }
    if (plain) out.push(plain)
    plain = ''
    out.push(...[found.made].flat().filter((x) => x !== ''))
    i = found.end
  }
  if (plain) out.push(plain)
  return out
}

function mark(text, i, depth) {
  for (const [pattern, made] of marks) {
    pattern.lastIndex = i
    const m = pattern.exec(text)
    if (m) {
      const end = pattern.lastIndex
      return { made: made(m, depth), end }
    }
  }
  return null
}

const safe = new Set(['http:', 'https:', 'mailto:'])

export function link(address, children, otherwise) {
  let url
  try { url = new URL(address) } catch { return otherwise }
  if (!safe.has(url.protocol)) return otherwise
  return make('a', { href: url.href, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...children)
}
