// Filters of plans in libraries of JavaScript: `documents.js ROWS.jsonl mongo` looks for documents with mingo, and
// `documents.js ROWS.jsonl ucast OUT.jsonl` has `@ucast/sql` make conditions of SQL, for `databases.py`. ROWS is what
// `plans --rows` writes. Exit code 1 after a difference.
'use strict';

const fs = require('node:fs');
const readline = require('node:readline');
const { Query } = require('mingo');
const { CompoundCondition, FieldCondition } = require('@ucast/core');
const { createSqlInterpreter, allInterpreters, pg, mysql, sqlite } = require('@ucast/sql');

// A line with whole numbers of 64 bits, which `JSON.parse` would round.
function wide(text) {
  return JSON.parse(text.replace(/([[:,]\s*)(-?\d{16,19})(?=\s*[,\]}])/g, '$1{"$numberLong":"$2"}'));
}

function scalar(value, column) {
  if (value === null) return null;
  if (typeof value === 'object') {
    if (value.$numberLong !== undefined) return integer(value.$numberLong, column);
    if (value.$numberDecimal !== undefined) return decimal(value.$numberDecimal);
  }
  if (column.type === 'integer' && typeof value === 'number') return integer(value, column);
  if (column.type === 'decimal') return decimal(String(value));
  return value;
}

// Numbers that JavaScript's do not tell apart are texts in the same order, in documents and queries alike.
const ordered = (number, digits) => String(number + 10n ** BigInt(digits)).padStart(digits + 1, '0');

const integer = (number, column) => (column.type === 'integer' ? ordered(BigInt(number), 20) : Number(number));

function decimal(text) {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e\+?(-?\d+))?$/i.exec(text);
  const digits = 30 + Number(exponent) - fraction.length;
  return ordered(BigInt(sign + whole + fraction) * 10n ** BigInt(digits), 80);
}

function documents(line, whenNull) {
  return line.rows.map((row, number) => {
    const document = { number };
    line.columns.forEach((column, at) => {
      const cell = row[at];
      if (cell === null) {
        if (whenNull === 'null' || column.nulls === 'null') document[column.path.join('.')] = null;
      } else {
        const one = (value) => scalar(value, column);
        document[column.path.join('.')] = column.many ? cell.map(one) : one(cell);
      }
    });
    return document;
  });
}

// The query with values as documents have them.
function query(value, columns, column) {
  if (Array.isArray(value)) return value.map((one) => query(one, columns, column));
  if (value === null || typeof value !== 'object') return column === undefined ? value : scalar(value, column);
  if (value.$numberLong !== undefined || value.$numberDecimal !== undefined) return scalar(value, column);
  const made = {};
  for (const [key, part] of Object.entries(value)) {
    const plain = key === '$size' || key === '$regex' || key === '$exists' || key === '$expr';
    made[key] = plain ? part : query(part, columns, columns.get(key.replace(/\.0$/, '')) ?? column);
  }
  return made;
}

function difference(line, expect, filter, whenNull) {
  const columns = new Map(line.columns.map((column) => [column.path.join('.'), column]));
  const test = new Query(query(filter, columns));
  const wrong = documents(line, whenNull).filter((document) => test.test(document) !== expect[document.number]);
  return wrong.length === 0 ? undefined : `${wrong.length} documents, the first ${line.rows[wrong[0].number]}`;
}

function mongo(line) {
  const { expect, may, plan } = line.mongo;
  for (const [part, expected] of [[plan, expect], [plan.superset, may]]) {
    if (expected === undefined || part.kind !== 'filter') continue;
    for (const whenNull of ['absent', 'null']) {
      const wrong = difference(line, expected, part.filter, whenNull);
      if (wrong !== undefined) return wrong;
    }
  }
  return undefined;
}

const condition = (ucast) =>
  ucast.type === 'compound'
    ? new CompoundCondition(ucast.operator, ucast.value.map(condition))
    : new FieldCondition(ucast.operator, ucast.field, ucast.value);

const interpret = createSqlInterpreter({
  ...allInterpreters,
  ...Object.fromEntries(
    Object.entries({ eq: '=', ne: '<>', lt: '<', lte: '<=', gt: '>', gte: '>=' }).map(([name, sign]) => [
      name,
      // Two columns: `@ucast/sql` leaves the operators to applications.
      (node, target) =>
        node.value !== null && typeof node.value === 'object' && node.value.field !== undefined
          ? target.whereRaw(`${target.field(node.field)} ${sign} ${target.field(node.value.field)}`)
          : target.where(node.field, sign, node.value),
    ]),
  ),
});

function ucast(text, out) {
  const { expect, plan } = JSON.parse(text).ucast;
  const made = { definite: false };
  for (const [name, dialect] of [['sqlite', sqlite], ['postgres', pg], ['mariadb', mysql]]) {
    if (plan.kind === 'filter') {
      const [filter, parameters] = interpret(condition(plan.filter), { ...dialect, joinRelation: () => false });
      made[name] = { expect, plan: { kind: 'filter', filter, parameters } };
    } else {
      made[name] = { expect, plan: { kind: plan.kind } };
    }
  }
  // Members that come again count. What stands in the rows is handed on as it is.
  return out.write(`${text.slice(0, -1)},${JSON.stringify(made).slice(1)}\n`);
}

async function main() {
  const [path, library, outPath] = process.argv.slice(2);
  const out = outPath === undefined ? undefined : fs.createWriteStream(outPath);
  let [plans, rows] = [0, 0];
  for await (const text of readline.createInterface({ input: fs.createReadStream(path) })) {
    if (library === 'ucast') {
      if (!ucast(text, out)) await new Promise((resolve) => out.once('drain', resolve));
    } else {
      const line = wide(text);
      const wrong = mongo(line);
      if (wrong !== undefined) {
        console.log(`mingo: ${line.name}: ${wrong}\n${text}`);
        process.exit(1);
      }
      rows += line.rows.length;
    }
    plans += 1;
  }
  if (out !== undefined) await new Promise((resolve) => out.end(resolve));
  console.log(library === 'ucast' ? `@ucast/sql: ${plans} conditions` : `mingo: ${plans} filters, ${rows} documents, no difference`);
}

main();
