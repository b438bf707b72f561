// Makes dist/page.html and dist/verify.html: one file each, scripts and styles inline and named by hash in the policy.
// `node build.mjs [FOLDER]`; the same sources and lock file give the same bytes.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { build } from 'vite';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, 'dist'));

async function bundle(entry) {
  const result = await build({
    root: here,
    configFile: false,
    logLevel: 'error',
    plugins: [svelte({ configFile: false })],
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rollupOptions: { input: join(here, 'src', entry), output: { format: 'es', inlineDynamicImports: true } },
    },
  });
  const output = (Array.isArray(result) ? result[0] : result).output;
  const script = output.filter((file) => file.type === 'chunk').map((file) => file.code).join('');
  const style = output.filter((file) => file.fileName.endsWith('.css')).map((file) => String(file.source)).join('');
  return { script: script.trim().replaceAll('</script', '<\\/script'), style: style.trim() };
}

const source = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

async function write(entry, shell, name) {
  const { script, style } = await bundle(entry);
  const policy = `default-src 'none'; script-src ${source(script)}; style-src ${source(style)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'`;
  const page = readFileSync(join(here, 'src', shell), 'utf8')
    .replace('%POLICY%', () => policy)
    .replace('%STYLE%', () => style)
    .replace('%SCRIPT%', () => script);
  writeFileSync(join(out, name), page);
}

mkdirSync(out, { recursive: true });
await write('page/main.ts', 'page.html', 'page.html');
await write('check/main.ts', 'verify.html', 'verify.html');
