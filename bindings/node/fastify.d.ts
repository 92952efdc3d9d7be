import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Decision } from './index.js'
import type { DefaultSubscription, Options, Pdp } from './enforce.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the plugin was told. */
    decision: (Pick<Decision, 'permit' | 'decision'> & Partial<Decision>) | null
  }
  interface FastifyContextConfig {
    /** `false` leaves the route alone. */
    durward?: boolean
  }
}

type DurwardPlugin = FastifyPluginAsync<durward.DurwardOptions>

declare namespace durward {
  export interface DurwardOptions extends Options<FastifyRequest, FastifyReply> {
    pdp: Pick<Pdp, 'decide'>
    /** Answers what is refused; by default 403. `request.decision` says what was decided. */
    deny?: (request: FastifyRequest, reply: FastifyReply) => unknown
  }

  /** What is asked by default. */
  export function subscriptionOf(request: FastifyRequest): DefaultSubscription | undefined

  export const durward: DurwardPlugin
  export { durward as default }
}

/** A plugin for Fastify: lets requests through if `pdp` permits them. Routes with `config: { durward: false }` are left alone. */
declare function durward(...parameters: Parameters<DurwardPlugin>): ReturnType<DurwardPlugin>

export = durward
