import type { Decision, Json, Pdp, Question } from './index.js'

/** What a handler is told beside the obligation, the advice or the resource. */
export interface Context<Request, Response> {
  readonly request: Request
  readonly response: Response
  readonly decision: Decision
}

/** Does what an obligation or advice says. What it throws, an obligation's handler refuses the request with. */
export type Handler<Request, Response> = (duty: Json, context: Context<Request, Response>) => unknown

/** Handlers by the name of what they handle (the text itself, its `type`, or its `id` in XACML), or a function that finds one. */
export type Handlers<Request, Response> =
  | { readonly [name: string]: Handler<Request, Response> }
  | ((duty: Json) => Handler<Request, Response> | undefined)

export interface Options<Request, Response> {
  /** What is asked about a request; `undefined` refuses it. By default the user, the method and the decoded path. */
  subscription?: (request: Request) => Question | undefined | Promise<Question | undefined>
  /** A permit with an obligation that no handler is found for is refused. */
  obligations?: Handlers<Request, Response>
  advice?: Handlers<Request, Response>
  /** Takes what stands for the resource; without it, a permit that has such a thing is refused. */
  resource?: (resource: Json, context: Context<Request, Response>) => unknown
}

/** What is asked by default; `undefined` for an address that can be read in two ways. */
export interface DefaultSubscription {
  subject: unknown
  action: string
  resource: string
}

export type { Pdp }
