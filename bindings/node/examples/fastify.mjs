// A guarded program of Fastify.
//
//   npm install durward fastify
//   node fastify.mjs
//   curl -i localhost:3000/records/7                         403
//   curl -i -H 'x-role: doctor' localhost:3000/records/7     200
//   curl -i -H 'x-role: nurse' localhost:3000/records/7      200, and a line in the log of reads
import fastify from 'fastify'
import { Pdp } from 'durward'
import durward from 'durward/fastify'

const pdp = Pdp.fromTexts({
  'doctors.sapl': `policy "doctors read" permit
    action == "GET"; subject.role == "doctor"; resource =~ "^/records/[0-9]+$";`,
  'nurses.sapl': `policy "nurses read, and that is noted" permit
    action == "GET"; subject.role == "nurse"; resource =~ "^/records/[0-9]+$";
  obligation { "type": "note", "path": resource }`,
})

const reads = new Map()
const note = (path) => reads.set(path, (reads.get(path) ?? 0) + 1)
const show = async (request) => ({ number: Number(request.params.number) })

const app = fastify()
app.decorateRequest('user', null)
// Stands for your login, which finds out who asks.
app.addHook('onRequest', async (request) => {
  const role = request.headers['x-role']
  if (role !== undefined) request.user = { role }
})
// Every route is guarded, unless it says otherwise. Whoever may read under an obligation, gets in when it is met.
await app.register(durward, { pdp, obligations: { note: ({ path }) => note(path) } })
app.get('/open/:number', { config: { durward: false } }, show)
app.get('/records/:number', show)

await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
