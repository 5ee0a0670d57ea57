// What the hosts of a fleet report, as one.
import { wordsOf } from './pauses.js'

// agentsOf joins what the hosts say of each agent. Money is that of the fleet already.
export function agentsOf(hosts) {
  const list = new Map()
  for (const host of hosts) {
    for (const a of host.agents ?? []) {
      const known = list.get(a.id)
      if (!known) {
        list.set(a.id, { ...a, able: [host.host], serving: a.serving ? [host.host] : [] })
        continue
      }
      for (const n of ['sessions', 'running', 'queued', 'inflight', 'suspects']) known[n] = (known[n] ?? 0) + (a[n] ?? 0)
      known.able.push(host.host)
      if (a.serving) known.serving.push(host.host)
      if (known.state === 'ready' && a.state !== 'ready') Object.assign(known, { state: a.state, reason: a.reason })
    }
  }
  return [...list.values()]
}

// alarmsOf is what a person should look at.
export function alarmsOf(hosts, channels, dead, pauses) {
  const list = pauses.map((p) => ({ kind: 'warn', what: p.agent || (p.channel ? 'Channel ' + p.channel : 'All agents'), text: wordsOf(p), href: p.agent ? '#/agents/' + encodeURIComponent(p.agent) : '#/fleet' }))
  for (const h of hosts) {
    if (!['ready', 'degraded'].includes(h.state)) list.push({ kind: 'bad', what: 'Host ' + h.host, text: h.state, href: '#/fleet' })
    for (const p of h.config_refused ?? []) list.push({ kind: 'warn', what: 'Configuration refused', text: [p.path ?? p.at, p.message ?? p.text ?? p.problem].filter(Boolean).join(': ') || JSON.stringify(p), href: '#/fleet' })
    for (const f of h.tool_faults ?? []) list.push({ kind: 'warn', what: 'Tool', text: f, href: '#/fleet' })
    for (const m of h.models ?? []) {
      if (m.breaker && m.breaker !== 'closed') list.push({ kind: 'warn', what: 'Model ' + m.name, text: 'not asked at the moment: ' + m.breaker, href: '#/fleet' })
    }
    for (const a of h.agents ?? []) {
      if (!['ready', 'paused'].includes(a.state)) list.push({ kind: a.state === 'degraded' ? 'warn' : 'bad', what: a.id, text: a.state + (a.reason ? ': ' + a.reason : ''), href: '#/agents/' + encodeURIComponent(a.id) })
      if (a.suspects) list.push({ kind: 'warn', what: a.id, text: a.suspects + ' runs may have ended their host; they are tried again one by one' })
    }
  }
  for (const c of channels) {
    if (c.last_error && c.state !== 'connected') list.push({ kind: 'bad', what: 'Channel ' + c.channel + (c.instance ? '.' + c.instance : ''), text: c.last_error })
  }
  const fresh = dead.filter((d) => Date.now() - new Date(d.at) < 3_600_000)
  if (fresh.length) list.push({ kind: 'bad', what: 'Dead letters', text: fresh.length + ' in the last hour; the newest: ' + fresh.at(-1).reason, href: '#/dead' })
  const seen = new Set()
  return list.filter((a) => !seen.has(a.what + a.text) && seen.add(a.what + a.text))
}
