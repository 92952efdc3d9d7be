// A guarded program of Express.
//
//   npm install durward express
//   node express.mjs
//   curl -i localhost:3000/records/7                         403
//   curl -i -H 'x-role: doctor' localhost:3000/records/7     200
//   curl -i -H 'x-role: nurse' localhost:3000/records/7      200, and a line in the log of reads
import express from 'express'
import { Pdp } from 'durward'
import { guard } from 'durward/express'

const pdp = Pdp.fromTexts({
  'doctors.sapl': `policy "doctors read" permit
    action == "GET"; subject.role == "doctor"; resource =~ "^/records/[0-9]+$";`,
  'nurses.sapl': `policy "nurses read, and that is noted" permit
    action == "GET"; subject.role == "nurse"; resource =~ "^/records/[0-9]+$";
  obligation { "type": "note", "path": resource }`,
})

const reads = new Map()
const note = (path) => reads.set(path, (reads.get(path) ?? 0) + 1)
const show = (req, res) => res.json({ number: Number(req.params.number) })

const app = express()
// Stands for your login, which finds out who asks.
app.use((req, res, next) => {
  const role = req.headers['x-role']
  if (role !== undefined) req.user = { role }
  next()
})
app.get('/open/:number', show)
// All that follows is guarded. Whoever may read under an obligation, gets in when it is met.
app.use(guard(pdp, { obligations: { note: ({ path }) => note(path) } }))
app.get('/records/:number', show)

app.listen(process.env.PORT ?? 3000, '127.0.0.1')
