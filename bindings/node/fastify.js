'use strict'

const { enforce, pathOf, settings } = require('./lib/enforce.js')

/** Subject from `request.user`, or null; the method; the whole path, decoded. */
function subscriptionOf(request) {
  const path = pathOf(request.originalUrl ?? request.url)
  return path === undefined ? undefined : { subject: request.user ?? null, action: request.method, resource: path }
}

/**
 * A plugin for Fastify: every route that is registered with or below the instance is let through if `pdp` permits the request, and answered
 * with 403 otherwise; routes with `config: { durward: false }` are left alone.
 */
async function durward(fastify, { pdp, ...options }) {
  const chosen = settings(pdp, options, subscriptionOf)
  fastify.decorateRequest('decision', null)
  fastify.addHook('preHandler', async (request, reply) => {
    if (request.routeOptions?.config?.durward === false) return undefined
    const { decision, granted } = await enforce(chosen, { request, response: reply })
    request.decision = decision
    if (granted || reply.sent) return reply.sent ? reply : undefined
    if (options.deny !== undefined) return options.deny(request, reply)
    return reply.code(403).send({ statusCode: 403, error: 'Forbidden', message: 'Forbidden' })
  })
}

// The hook is one of the instance that registers the plugin, as `fastify-plugin` would have it.
durward[Symbol.for('skip-override')] = true
durward[Symbol.for('fastify.display-name')] = 'durward'
durward[Symbol.for('plugin-meta')] = { name: 'durward', fastify: '4.x || 5.x' }

module.exports = durward
module.exports.default = durward
module.exports.durward = durward
module.exports.subscriptionOf = subscriptionOf
