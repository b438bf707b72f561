// People made up for a model file: every value is one that its schema knows. The same seed makes the same people.

export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function value(feature, next) {
  if (feature.levels.length > 0) return feature.levels[Math.floor(next() * feature.levels.length)];
  const { low, high } = feature;
  const drawn = low + (high - low) * next() ** 2;
  if (feature.step !== undefined) {
    const origin = feature.min ?? 0;
    return origin + feature.step * Math.round((drawn - origin) / feature.step);
  }
  return feature.kind === 'integer' ? Math.round(drawn) : Math.round(drawn * 100) / 100;
}

const cell = (text) => (/[",\n]/.test(String(text)) ? `"${String(text).replaceAll('"', '""')}"` : String(text));

/** A table with a column for each feature; one-hot groups as one column that names the level is not read, so as 0/1. */
export function peopleCsv(model, oneHot, count, seed) {
  const next = random(seed);
  const header = model.features.flatMap((f) => (oneHot[f.name] ? f.levels : [f.name]));
  const lines = [header.map(cell).join(',')];
  for (let i = 0; i < count; i++) {
    const cells = model.features.flatMap((f) => {
      const v = value(f, next);
      return oneHot[f.name] ? f.levels.map((level) => (level === v ? 1 : 0)) : [v === '(missing)' ? '' : v];
    });
    lines.push(cells.map(cell).join(','));
  }
  return lines.join('\n') + '\n';
}
