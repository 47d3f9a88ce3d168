/**
 * Addresses of screens live behind the #, so that a question in a link never reaches a server's log.
 * `#/ask/adult?within=5` has the path ["ask", "adult"] and the query {within: "5"}.
 */

export interface Place {
  path: string[]
  query: Record<string, string>
}

export function read(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return {
    path: path.split('/').filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The address of a screen; empty values are left out. */
export function link(path: string[], query: Record<string, string | number | null | undefined> = {}): string {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const search = new URLSearchParams(kept.map(([key, value]) => [key, String(value)])).toString()
  return '#/' + path.map(encodeURIComponent).join('/') + (search && '?' + search)
}

export const place = $state<Place>({ path: [], query: {} })

function follow(): void {
  const next = read(location.hash)
  place.path = next.path
  place.query = next.query
}

/** Begins to follow the address; gives the single-use code of a first run, which is then taken out of the address. */
export function start(): string | null {
  const code = /^#code=([A-Za-z0-9_-]{16,})$/.exec(location.hash)?.[1] ?? null
  if (code) history.replaceState(null, '', '#/')
  follow()
  addEventListener('hashchange', follow)
  return code
}

export function go(path: string[], query: Record<string, string | number | null | undefined> = {}): void {
  location.hash = link(path, query)
}

/** Writes the state of a screen into the address without a step in the history. */
export function note(path: string[], query: Record<string, string | number | null | undefined>): void {
  const next = link(path, query)
  if (next !== location.hash) history.replaceState(null, '', next)
}
