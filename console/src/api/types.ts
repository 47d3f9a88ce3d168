/** The forms of the HTTP interface. Exact numbers are texts; `null` amounts are without bound. */

export type Role = 'curator' | 'analyst' | 'auditor'

export interface Me {
  id: string
  name: string
  role: Role
  expires: string | null
  version: string
}

export interface Budget {
  currency?: 'pure' | 'approximate' | 'zeta'
  epsilon: string | null
  delta?: string | null
  zeta?: string | null
}

export interface Amount {
  epsilon: string | null
  zeta: string | null
  delta: string
}

export type Remaining = Partial<Amount>

export interface Standing {
  budget: Budget
  spent: Amount
  remaining: Remaining
  text: { budget: string; spent: string; remaining: string }
}

export interface Noise {
  kind: string
  rates?: string[]
  breaks?: string[]
  sigma?: string
  epsilon?: string
  [field: string]: unknown
}

export type ColumnType = 'integer' | 'number' | 'text' | 'boolean' | 'date' | 'timestamp'

export interface Column {
  name: string
  type: ColumnType | null
  low: string | null
  high: string | null
  step: string | null
  values: (string | number | boolean)[] | null
  other: string | null
  reviewed: boolean
  note?: string | null
  [field: string]: unknown
}

export interface Dataset {
  name: string
  title: string | null
  description: string | null
  contact: string | null
  licence: string | null
  protects: string
  neighbours: string
  unit: string | null
  max_rows: number | null
  max_cells: number | null
  answers: 'own' | 'shared'
  public: boolean
  retired: boolean
  version: string | null
  mine: Standing | null
  all: Standing | null
  budget: Budget
  sql_name: string
  schema?: { columns: Column[]; encoding?: string | null }
}

export type Question = { ask: string } & Record<string, unknown>

export interface Pay {
  within?: string | number
  probability?: string | number
  spend?: Budget
  noise?: Noise
  plan?: string
  fresh?: boolean
}

export type Asked = { question: Question; pay: Pay } | { sql: string; pay: Pay }

export interface Quote {
  digest: string
  dataset: string
  /** Of a new answer. */
  price: Amount
  /** Asked before: free. `stale` where the rows have changed since. */
  stored: { stored: boolean; stale: boolean; answered_at: string | null; note: string | null } | null
  affordable: boolean
  remaining: Remaining | null
  remaining_now: Remaining | null
  level: string
  asked: { question: Record<string, unknown>; noise: Noise[]; threshold?: number }[]
  words: string[]
  cells: number[]
  errors: (string | null)[]
  errors_of_all_cells: (string | null)[]
  plan: Plan | null
  text: { cost: string; error: string; remains: string; affordable: string }
}

export interface AnswerRow {
  keys: Record<string, string | number | boolean | null>
  value: string | number | null
  low: string | number | null
  high: string | number | null
  origin?: string
}

export interface OneAnswer {
  rows: AnswerRow[]
  level: string
  query: Record<string, unknown>
  noise: Noise | null
  noises?: Noise[]
  neighbours: string
  simultaneous: [string, string][] | null
  words: string
  clamped?: boolean
  stored: boolean
  plan: number | string | null
  paid_by?: unknown
  together?: unknown
  threshold?: number | null
  [field: string]: unknown
}

export interface Answered {
  id: string | null
  dataset: string
  state: 'answered' | 'running' | 'failed'
  stored: boolean
  /** Null where a plan paid. */
  price: Amount | null
  remaining: Remaining | null
  answered_at: string
  sql: string | null
  answers: OneAnswer[]
  table: Selected | null
}

/** The table of a SELECT: its columns in order, and the groups that ORDER BY, HAVING and LIMIT leave. */
export interface Selected {
  level: string
  columns: { name: string; key: number | null; formula: unknown }[]
  rows: Record<string, unknown>[]
  /** Which group of the answers each row is. */
  places: number[]
  /** The answers that decided on the order or the choice. */
  chosen_by: number[]
}

export interface Past {
  id: string
  dataset: string
  asked_at: string
  answered_at: string | null
  state: 'answered' | 'running' | 'failed'
  words: string[]
  price: Amount | null
  plan: string | null
  run: string | null
}

export interface Plan {
  id: string | null
  dataset: string
  name: string | null
  noise: Noise
  slots: number
  left: number
  price: Amount
  worst_epsilon: number
  zeta: number
  chance_of_more: number
  shared: boolean
  text: string
  remaining?: Remaining | null
  remaining_now?: Remaining | null
  affordable?: boolean
}

export interface Design {
  noise: Noise
  spelled: string
  queries: number
  one: { epsilon: number; zeta: number }
  all: { epsilon: number; zeta_at_most: number; epsilon_at_delta?: number; delta?: number; chance_of_more?: number }
  variance: number
  mean_abs: number
  within_95: number
  reached: { goal: string; probability: number }[]
  why: string
  alternatives: { name: string; noise: Noise; measure: string; value: number; chosen: number }[]
  price: Amount
  answers_left: number | null
}

export interface Estimate {
  estimate: true
  variance: number
  mean_abs: number
  within_95: number
  epsilon: number
  /** The shape on the reals; empty where the noise is not made of pieces. */
  rates: number[]
  breaks: number[]
}

export interface Person {
  id: string
  name: string | null
  role: Role
  address?: string | null
}

export interface Key {
  id: string
  person: Person
  expires: string | null
  revoked: boolean
  key?: string
}

export interface Grant {
  person: Person
  dataset: string
  standing: Standing
  expires: string | null
  revoked: boolean
  warnings?: string[]
}

export type Source = { root: string; path: string; table?: string } | { connection: string; table: string } | { shipped: string }

export interface Sources {
  roots: { name: string; files: string[] }[]
  connections: { name: string; kind: string; address: string }[]
  shipped: string[]
  first?: { source: Source; name: string; budget: Budget | null } | null
}

export interface Overview {
  datasets: {
    name: string
    standing: Standing
    shares: { person: Person | string | null; standing: Standing; state: string }[]
    spent_by_day: { day: string; epsilon: string }[]
    epsilon_per_day: string
    days_left: number | null
    answers: number
    failed: number
    refusals: number
  }[]
  entries: { at: string; dataset: string; who: string | null; what: string; state: string; price: Amount | null }[]
  head: string
}

export interface RecordOf {
  dataset: string
  title: string | null
  description: string | null
  contact: string | null
  licence: string | null
  protects: string
  unit: string | null
  budget: Budget
  spent: Amount
  remaining: Remaining
  opened_at: string
  raises: { at: string; before: Budget; after: Budget; ex_post: boolean; reason: string }[]
  releases: { day: string; words: string[]; noise: Noise[]; price: Amount | null; state: string }[]
  head: string | null
}

export interface Verified {
  ok: boolean
  head: string
  events: number
  /** Whether a witness outside of the ledger agrees; absent where none is kept. */
  witness?: boolean
  checked_at?: string
}

export interface Run {
  id: string | null
  dataset: string
  columns?: string[]
  queries: number
  updates: number
  updates_left?: number
  within: string | null
  promise: string
  price: Amount
  text: string
}

export interface RunAnswers {
  run: string
  answers: OneAnswer[]
  updates_left: number
}
