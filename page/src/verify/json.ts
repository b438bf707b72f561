// JSON as a tree that keeps the order of keys and the spelling of numbers: hashes are of the text, and a feature
// may be called "2", which a plain object would put first. A repeated key is an error.

export type Node =
  | { kind: 'object'; members: [string, Node][] }
  | { kind: 'array'; items: Node[] }
  | { kind: 'string'; value: string }
  | { kind: 'number'; text: string }
  | { kind: 'word'; value: boolean | null };

const MAX_DEPTH = 100;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const BLANK = /[ \t\n\r]*/y;

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  whole(): Node {
    const node = this.value(0);
    this.match(BLANK);
    if (this.at !== this.text.length) this.fail('nothing more');
    return node;
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return null;
    this.at = pattern.lastIndex;
    return found[0];
  }

  private fail(expected: string): never {
    const line = this.text.slice(0, this.at).split('\n').length;
    throw new Error(`line ${line}: expected ${expected}, found ${JSON.stringify(this.text.slice(this.at, this.at + 20))}`);
  }

  private next(): string {
    this.match(BLANK);
    return this.text[this.at] ?? '';
  }

  private value(depth: number): Node {
    if (depth > MAX_DEPTH) this.fail(`at most ${MAX_DEPTH} levels`);
    const c = this.next();
    if (c === '{') return this.object(depth);
    if (c === '[') return this.array(depth);
    if (c === '"') return { kind: 'string', value: this.string() };
    for (const [word, value] of [['true', true], ['false', false], ['null', null]] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return { kind: 'word', value };
      }
    }
    const text = this.match(NUMBER);
    if (text === null || !Number.isFinite(Number(text))) this.fail('a value');
    return { kind: 'number', text };
  }

  private string(): string {
    const text = this.match(STRING);
    if (text === null) this.fail('a string');
    return JSON.parse(text) as string;
  }

  private object(depth: number): Node {
    const members: [string, Node][] = [];
    const seen = new Set<string>();
    this.at++;
    if (this.next() === '}') this.at++;
    else {
      do {
        if (this.next() !== '"') this.fail('a key');
        const key = this.string();
        if (seen.has(key)) throw new Error(`the key ${JSON.stringify(key)} stands there twice`);
        seen.add(key);
        if (this.next() !== ':') this.fail('":"');
        this.at++;
        members.push([key, this.value(depth + 1)]);
      } while (this.goesOn('}'));
    }
    return { kind: 'object', members };
  }

  private array(depth: number): Node {
    const items: Node[] = [];
    this.at++;
    if (this.next() === ']') this.at++;
    else {
      do items.push(this.value(depth + 1));
      while (this.goesOn(']'));
    }
    return { kind: 'array', items };
  }

  private goesOn(end: string): boolean {
    const c = this.next();
    if (c !== ',' && c !== end) this.fail(`"," or "${end}"`);
    this.at++;
    return c === ',';
  }
}

export function parse(text: string): Node {
  return new Reader(text.startsWith('\ufeff') ? text.slice(1) : text).whole();
}

/** Plain values; objects have no prototype, so that no key of a file is special. */
export function toValue(node: Node): unknown {
  switch (node.kind) {
    case 'object': {
      const result = Object.create(null) as Record<string, unknown>;
      for (const [key, value] of node.members) result[key] = toValue(value);
      return result;
    }
    case 'array':
      return node.items.map(toValue);
    case 'number':
      return Number(node.text);
    default:
      return node.value;
  }
}

function byCodePoint(a: string, b: string): number {
  const left = [...a], right = [...b];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = left[i]!.codePointAt(0)! - right[i]!.codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Keys sorted, no white space, numbers as they are spelt. */
export function canonical(node: Node, omit: readonly string[] = []): string {
  switch (node.kind) {
    case 'object': {
      const members = node.members.filter(([key]) => !omit.includes(key)).sort(([a], [b]) => byCodePoint(a, b));
      return '{' + members.map(([key, value]) => JSON.stringify(key) + ':' + canonical(value)).join(',') + '}';
    }
    case 'array':
      return '[' + node.items.map((item) => canonical(item)).join(',') + ']';
    case 'string':
      return JSON.stringify(node.value);
    case 'number':
      return node.text;
    default:
      return String(node.value);
  }
}

/** The text again, without white space, the order as it was. */
export function plain(node: Node): string {
  if (node.kind === 'object') return '{' + node.members.map(([key, value]) => JSON.stringify(key) + ':' + plain(value)).join(',') + '}';
  return node.kind === 'array' ? '[' + node.items.map(plain).join(',') + ']' : canonical(node);
}

export function member(node: Node, key: string): Node | undefined {
  return node.kind === 'object' ? node.members.find(([name]) => name === key)?.[1] : undefined;
}

export function keys(node: Node | undefined): string[] {
  return node?.kind === 'object' ? node.members.map(([name]) => name) : [];
}
