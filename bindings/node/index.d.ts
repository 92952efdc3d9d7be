/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** What policies are asked, as an object; its members may be any value of JSON. A member that is undefined counts as absent. */
export interface Subscription {
  subject: unknown
  action: unknown
  resource: unknown
  environment?: unknown
  /** Values that no explanation and no log shows. */
  secrets?: unknown
}

/** The same as the text of its JSON, as its bytes in UTF-8, or as an object. */
export type Question = Subscription | string | Uint8Array

export type Outcome = 'PERMIT' | 'DENY' | 'SUSPEND' | 'NOT_APPLICABLE' | 'INDETERMINATE'

/** A decision. It is frozen, with all that it holds. */
export class Decision {
  private constructor()
  /** Whether the decision is PERMIT. Whoever grants access must also do what `obligations` say, or not grant it. */
  readonly permit: boolean
  readonly decision: Outcome
  /** What must be done; absent if there is nothing. */
  readonly obligations?: readonly Json[]
  /** What should be done; absent if there is nothing. */
  readonly advice?: readonly Json[]
  /** What must be given out in place of the resource; absent if there is nothing. */
  readonly resource?: Json
  /** The decision as SAPL writes it. */
  toJSON(): { decision: Outcome; obligations?: Json[]; advice?: Json[]; resource?: Json }
}

/** Why a question is answered as it is. */
export class Explanation {
  private constructor()
  /** In words, many lines. */
  readonly text: string
  /** The same as values. */
  readonly steps: Json[]
  toString(): string
  /** `steps` */
  toJSON(): Json[]
}

/** The policies in force. */
export interface Snapshot {
  /** Counts the snapshots of one decision point, from 1. */
  readonly id: number
  readonly documents: number
  readonly policies: number
  readonly rules: number
  /** The index in use, and why. */
  readonly index: string
}

/** Policies by name. The name says the language, as a file's does: `.sapl`, `.xml`, `pdp.json`. */
export type Texts = { readonly [name: string]: string | Uint8Array } | ReadonlyMap<string, string | Uint8Array>

/** A policy decision point with its policies. */
export class Pdp {
  private constructor()

  /** Reads the policies of a folder, or of one file. Throws `PolicyError`. Browsers have no files: `DurwardError`. */
  static fromDir(path: string | URL): Pdp
  /** The same on another thread; in WebAssembly, which has none, at once. So do the others of such a name. */
  static fromDirAsync(path: string | URL): Promise<Pdp>

  /** Takes policies as texts. Throws `PolicyError`. */
  static fromTexts(texts: Texts): Pdp
  /** The same on another thread. */
  static fromTextsAsync(texts: Texts): Promise<Pdp>

  /** Answers a subscription of SAPL. Throws `QuestionError`, which must be treated as a deny. */
  decide(subscription: Question): Decision
  /** Answers many, in their order. */
  decideMany(subscriptions: Iterable<Question>): Decision[]
  /** The same; what is no subscription is an error in its place, whose `permit` is undefined. */
  decideMany(
    subscriptions: Iterable<Question>,
    options: { returnErrors: boolean },
  ): (Decision | (QuestionError & { readonly permit?: undefined }))[]
  /** Answers a request of XACML in XML or JSON; the response is a text of the same form. Throws `QuestionError`. */
  decideRequest(request: string | Uint8Array | object): string

  /** Says why a subscription is answered as it is. */
  explain(subscription: Question): Explanation
  /** Says why a request of XACML is answered as it is. */
  explainRequest(request: string | Uint8Array | object): Explanation

  /** Decides a subscription again whenever another decision comes of it. */
  watch(subscription: Question): Watch

  /** Reads the policies again from where they were read. Throws `PolicyError`; the policies stay as they were then. */
  reload(): Snapshot
  /** The same on another thread. */
  reloadAsync(): Promise<Snapshot>

  /** Puts other policies in force. Throws `PolicyError`; the policies stay as they were then. */
  replace(texts: Texts): Snapshot
  /** The same on another thread. */
  replaceAsync(texts: Texts): Promise<Snapshot>

  /** What is in force. */
  snapshot(): Snapshot

  /** Lets go of the policies and closes all watches. What is asked afterwards is an error. */
  close(): void
}

/**
 * Decisions that follow one another: the first at once, then each that is unlike the one given before. Who is slow sees only the latest.
 * While somebody waits for the next one, the process is kept alive, unless `unref` was called.
 */
export class Watch implements AsyncIterable<Decision> {
  private constructor()
  next(): Promise<IteratorResult<Decision, undefined>>
  return(value?: undefined): Promise<IteratorResult<Decision, undefined>>
  throw(error?: unknown): Promise<IteratorResult<Decision, undefined>>
  [Symbol.asyncIterator](): this
  /** Ends it: whoever waits is told that there are no more. */
  close(): void
  /** Waiting keeps the process alive: how it begins. */
  ref(): this
  /** Waiting does not keep the process alive. */
  unref(): this
}

/** What durward refuses. */
export class DurwardError extends Error {}

/** Policies were not put in force. Those that were in force still are. */
export class PolicyError extends DurwardError {
  readonly problems: readonly Problem[]
}

/** What is wrong in a policy. */
export interface Problem {
  /** The name of the text or the file; absent for what concerns all policies. */
  readonly source?: string
  /** From 1. */
  readonly line?: number
  /** In characters, from 1. */
  readonly column?: number
  readonly message: string
  /** A way out, where one is known. */
  readonly help?: string
}

/** A question has no decision: it is no subscription or no request. */
export class QuestionError extends DurwardError {}
