// Models that no golden file is of, made from rows drawn here: those that decide elsewhere, linear and with hidden
// layers, in both precisions, one whose numbers are seen by their bins, and one that is off the optimum.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { random } from './people.mjs';

const PURPOSES = ['car', 'home', 'shop'];

const schema = (share) => `target: {column: paid, favourable: "yes"}
features:
  income: {kind: numeric, min: 0, step: 100, unit: EUR}
  debt: {kind: numeric, min: 0}
  share: ${share}
  children: {kind: integer, min: 0, max: 9, immutable: true}
  purpose: {kind: categorical, levels: [${PURPOSES.join(', ')}]}
  owner: {kind: binary, levels: ["no", "yes"]}
constraints: ["debt <= 2 * income"]
`;
const NUMBER = '{kind: numeric, min: 0, max: 1}';
const BINNED = '{kind: binned, edges: [0.15, 0.3, 0.6], closed: left, special: {"9": no record, "-1": frozen}}';
const WORTH = '{kind: binned, edges: [0.15, 0.3, 0.6], special: {"-9": no record}, values: [0.8, 0.3, -0.2, -1.1, -0.4]}';

/** A table of people with their answers; `codes` stand in place of some shares. */
function table(count, seed, codes) {
  const next = random(seed), lines = ['income,debt,share,children,purpose,owner,paid'];
  for (let i = 0; i < count; i++) {
    const income = 100 * Math.round(150 + 350 * next()), debt = Math.round(30000 * next() ** 2), share = Math.round(1000 * next()) / 1000;
    const children = Math.floor(4 * next()), purpose = PURPOSES[Math.floor(3 * next())], owner = next() < 0.4 ? 'yes' : 'no';
    const code = codes.length > 0 && next() < 0.1 ? codes[Math.floor(codes.length * next())] : null;
    const score = (income - 32000) / 8000 - debt / 12000 - (code === null ? 3 * share : 1) + (owner === 'yes' ? 0.8 : 0) + (purpose === 'home' ? 0.4 : 0) + 1.6;
    lines.push([income, debt, code ?? share, children, purpose, owner, next() < 1 / (1 + Math.exp(-score)) ? 'yes' : 'no'].join(','));
  }
  return lines.join('\n') + '\n';
}

/** The inputs of somebody else's model: standardised numbers, and a level of each category left out. */
const INPUTS = [
  { feature: 'income', offset: 32000, scale: 8000 }, { feature: 'debt', offset: 10000, scale: 9000 }, { feature: 'share', offset: 0.5, scale: 0.3 },
  { feature: 'children', offset: 1.5, scale: 1.1 }, { feature: 'purpose', level: 'home' }, { feature: 'purpose', level: 'shop' }, { feature: 'owner' },
];
const LINEAR = [{ weights: [[0.95, -0.73, -0.88, 0.02, 0.35, -0.02, 0.75]], bias: [0.1] }];
const HIDDEN = [
  { weights: [[0.9, -0.7, -0.8, 0, 0.3, 0, 0.7], [0.5, 0.3, -0.6, 0.1, 0, -0.2, 0.1], [-0.4, 0.8, 0.2, 0, -0.3, 0.1, -0.5]], bias: [0.1, -0.2, 0.3] },
  { weights: [[1.4, 0.3, -0.7]], bias: [0.05] },
];
const deployed = (layers, precision) => ({ format: 'ellice.deployed', version: 1, tool: 'by hand', inputs: INPUTS, layers, loss: 'logistic', l2: 0.002, precision });

/** Writes the model files into a folder; gives name, file and the options of `explain` to try. */
export function makeModels(ellice, folder) {
  const file = (name, text) => { writeFileSync(join(folder, name), text); return join(folder, name); };
  const plain = file('plain.yaml', schema(NUMBER)), rows = file('rows.csv', table(500, 7, []));
  const made = [];
  const tanh = HIDDEN.map((layer, i) => (i === 0 ? { ...layer, activation: 'tanh' } : layer));
  const relu = HIDDEN.map((layer, i) => (i === 0 ? { ...layer, activation: 'relu' } : layer));
  for (const [name, layers, precision] of [['linear64', LINEAR, 'float64'], ['linear32', LINEAR, 'float32'], ['tanh', tanh, 'float64'], ['relu', relu, 'float32']]) {
    const out = join(folder, `${name}.json`);
    ellice('import', file(`${name}-theirs.json`, JSON.stringify(deployed(layers, precision))), '--data', rows, '--schema', plain, '--quiet', '-o', out);
    made.push({ name, file: out, codes: [], sets: layers.length > 1 ? ['--set', 'last-layer'] : [] });
  }
  for (const [name, share, codes] of [['bins', BINNED, [9, -1]], ['worth', WORTH, [-9]]]) {
    const out = join(folder, `${name}.json`);
    ellice('train', file(`${name}.csv`, table(600, 11, codes)), '--schema', file(`${name}.yaml`, schema(share)), '--model', name === 'bins' ? 'additive' : 'logistic', '--folds', '0', '--quiet', '-o', out);
    made.push({ name, file: out, codes, sets: [] });
  }
  // One whose head is off its optimum, since monotone features keep their signs.
  const monotone = ['income=increase', 'debt=decrease', 'share=increase', 'owner=decrease'].flatMap((one) => ['--monotone', one]);
  const out = join(folder, 'monotone.json');
  ellice('train', rows, '--schema', plain, '--model', 'nam', '--hidden', '4', '--epochs', '60', ...monotone, '--quiet', '-o', out);
  made.push({ name: 'monotone', file: out, codes: [], sets: ['--set', 'last-layer'] });
  return made;
}

/** People who ask, as a table without answers. */
export const askers = (count, seed, codes) => table(count, seed, codes).split('\n').map((line) => line.slice(0, line.lastIndexOf(','))).join('\n').trimEnd() + '\n';

/** A model whose every name is an attempt at a script, as evil.json, and somebody who asks it, in evil-people.csv. */
export function makeEvil(ellice, folder) {
  const evil = (name) => `${name}</script><img src=x onerror=alert(1)><script>alert(2)</script>`;
  const quoted = (text) => JSON.stringify(text);
  writeFileSync(join(folder, 'evil.yaml'), `target: {column: ${quoted(evil('t'))}, favourable: ${quoted(evil('f'))}}
features:
  ${quoted(evil('n'))}: {kind: numeric, unit: ${quoted(evil('u'))}, label: ${quoted(evil('l'))}, description: ${quoted(evil('d'))}}
  "__proto__": {kind: numeric}
  "2": {kind: categorical, levels: [${quoted(evil('p'))}, ${quoted(evil('q'))}]}
`);
  const cell = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const line = (cells) => cells.map(cell).join(',');
  const rows = Array.from({ length: 60 }, (_, i) => line([i % 13, (i * 7) % 11, evil(i % 2 ? 'p' : 'q'), (i % 13) + ((i * 7) % 11) > 10 ? evil('f') : evil('g')]));
  const header = [evil('n'), '__proto__', '2'];
  writeFileSync(join(folder, 'evil.csv'), [line([...header, evil('t')]), ...rows].join('\n') + '\n');
  writeFileSync(join(folder, 'evil-people.csv'), [line([...header, 'id']), line([1, 1, evil('p'), evil('i')])].join('\n') + '\n');
  ellice('train', join(folder, 'evil.csv'), '--schema', join(folder, 'evil.yaml'), '--folds', '0', '--quiet', '-o', join(folder, 'evil.json'));
}
