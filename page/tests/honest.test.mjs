// That nothing on the page says more than is so: whose values are shown, for which model and ε, and what was checked.
// Environment: ELLICE, CHROMIUM, VERIFY (verify.html), GOLDEN, WORK (a folder).
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { browser, findings, open } from './browser.mjs';
import { entry, find, serve, served } from './service.mjs';

const { ELLICE, VERIFY, GOLDEN, WORK } = process.env;
mkdirSync(WORK, { recursive: true });
const file = (name) => join(WORK, name);
const url = (name) => pathToFileURL(file(name)).href;
const model = (name) => join(GOLDEN, 'models', `${name}.json`);

function ellice(...args) {
  const done = spawnSync(ELLICE, args, { encoding: 'utf8', maxBuffer: 2 ** 30 });
  assert.equal(done.status, 0, `ellice ${args.join(' ')}\n${done.stderr}`);
}

let chrome, service;
before(async () => {
  ellice('demo', '--people', '95', '--quiet', '-o', file('demo.html'), '--csv', file('people.csv'));
  chrome = await browser();
  service = await serve(0);
});
after(async () => {
  await chrome?.close();
  await service?.stop();
});

const income = (page) => entry(page, 'income, EUR/year');
const letter = (page) => page.locator('.letter').textContent();
const view = (page, name) => page.locator('nav').getByRole('button', { name }).click();

test('a search for tried values leaves the person as they are', async () => {
  const { page, done } = await open(chrome, service.url);
  await find(page);
  assert.equal(await income(page).inputValue(), '26000');
  await page.getByRole('button', { name: 'Try the plan' }).click();
  await page.getByRole('button', { name: 'Find plans' }).click();
  await page.locator('#form-title').filter({ hasText: 'with other values' }).waitFor();
  await page.getByRole('button', { name: 'Find plans' }).waitFor();
  assert.match(await letter(page), /What if: .*not about the person’s own.*Nothing has to change/s);
  assert.deepEqual(await findings(page), []);
  await page.getByRole('button', { name: 'Own values' }).click();
  assert.equal(await income(page).inputValue(), '26000');
  assert.doesNotMatch(await letter(page), /Nothing has to change|What if/);
  await page.getByRole('button', { name: 'What if' }).click();
  assert.equal(await income(page).inputValue(), '58700');
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('button', { name: 'Previous' }).click();
  assert.equal(await income(page).inputValue(), '26000');
  await done();
});

test('somebody new is typed beside those whom the service has', async () => {
  const { page, done } = await open(chrome, service.url);
  await page.locator('.verdict').waitFor();
  const before = await page.locator('.pick option').count();
  await page.getByRole('button', { name: 'New applicant' }).click();
  assert.equal(await page.locator('#form-title').textContent(), 'New applicant');
  assert.equal(await page.locator('.feature.changed').count(), 0);
  for (const [label, value] of [['income, EUR/year', '22000'], ['debt, EUR', '18000'], ['savings, EUR', '0']]) {
    await entry(page, label).fill(value);
    await page.keyboard.press('Tab');
  }
  await find(page);
  assert.equal(await page.locator('#form-title').textContent(), 'New applicant');
  assert.equal(await income(page).inputValue(), '22000');
  assert.doesNotMatch(page.url(), /person=/);
  assert.equal(await page.locator('.pick option').count(), before + 1);
  await view(page, 'Everyone');
  assert.match(await page.locator('.book h2').textContent(), new RegExp(`^${before} people`));
  await done();
});

test('a model that was replaced is noticed, and no letter speaks for it', async () => {
  copyFileSync(model('lending'), file('live.json'));
  const own = await served(file('live.json'), '--people', file('people.csv'), '--port', '0');
  const { page, done } = await open(chrome, own.url);
  await find(page);
  assert.match(await letter(page), /This was proved for/);
  copyFileSync(model('lending-other'), file('live.json'));
  own.hangUp();
  await page.waitForTimeout(1500);
  await page.getByRole('button', { name: 'Find plans' }).click();
  await page.getByRole('alert').filter({ hasText: 'The service has another model by now' }).waitFor();
  assert.doesNotMatch(await letter(page), /This was proved|the answer becomes/);
  assert.match(await letter(page), /no promise/);
  assert.deepEqual(await findings(page), []);
  await page.getByRole('button', { name: 'Load the new model' }).click();
  await page.locator('.plan .badge').filter({ hasText: 'Not asked' }).waitFor();
  await find(page);
  assert.match(await letter(page), new RegExp(`This was proved for.*Model${JSON.parse(readFileSync(join(GOLDEN, 'recourse/lending-ensemble.json'), 'utf8')).options.ensemble[0]}`, 's'));
  await done();
  await own.stop();
});

test('a search for everyone has its own ε, and says which', async () => {
  const { page, done } = await open(chrome, service.url);
  await page.locator('.slider input').focus();
  await page.keyboard.press('Home');
  await view(page, 'Everyone');
  assert.match(await page.locator('.book').textContent(), /A search for everyone is for ε = 0\.0037/);
  await page.getByRole('button', { name: 'Find plans for everyone' }).click();
  await page.getByRole('button', { name: 'Find plans for everyone' }).or(page.getByRole('button', { name: 'Stop' })).waitFor({ state: 'hidden' });
  assert.match(await page.locator('.book').textContent(), /Plans are for ε = 0\.0037\d* \(1\.00\s%/);
  await page.locator('tbody button.link').first().click();
  assert.match(await page.locator('.frontier').textContent(), /up to 1\.00\s%/);
  await done();
});

test('a letter to somebody who is accepted says so', async () => {
  const { page, done } = await open(chrome, service.url);
  await page.locator('.pick select').selectOption({ label: 'applicant 8' });
  const headline = page.locator('.verdict h2');
  for (let value = 19100; (await headline.textContent()) === 'No.'; value += 300) {
    await income(page).fill(String(value));
    await page.keyboard.press('Tab');
  }
  assert.match(await headline.textContent(), /Yes today, but not for sure/);
  await find(page);
  assert.match(await letter(page), /The answer today is approved.=.yes, but not every model/);
  assert.doesNotMatch(await letter(page), /the answer becomes/);
  await done();
});

test('what one constraint alone would buy breaks no other', async () => {
  ellice('explain', model('lending'), file('people.csv'), '--epsilon', '24%', '--lock', 'income,guarantor,debt', '--nearest', '--quiet', '-o', file('none.html'));
  const { page, done } = await open(chrome, url('none.html'));
  await page.locator('.blocking').waitFor();
  assert.match(await page.locator('.why').textContent(), /no plan is known without this one alone/);
  for (const one of await page.getByRole('switch').all()) {
    if (!(await one.isEnabled())) continue;
    await one.click();
    assert.doesNotMatch(await page.locator('.buys').textContent(), /\bage\b|dependants/);
    await one.click();
  }
  assert.match(await page.locator('.why').textContent(), /training range 7\u202f000 to 156\u202f200/);
  await done();
});

test('numbers that were typed are those that are judged', async () => {
  const { page, done } = await open(chrome, url('demo.html'));
  await income(page).fill('');
  await page.keyboard.press('Tab');
  assert.equal(await income(page).inputValue(), '26000');
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await page.getByLabel('or written').fill('debt <= 1e999');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  assert.match(await page.locator('.rules [role=alert]').textContent(), /1e999 is too large/);
  await view(page, 'Everyone');
  await page.evaluate(() => { location.hash = '#person=5'; });
  await page.locator('#form-title').waitFor();
  assert.match(await page.locator('footer').textContent(), /loads nothing/);
  await done();
  const live = await open(chrome, service.url);
  await live.page.locator('.verdict').waitFor();
  assert.doesNotMatch(await live.page.locator('footer').textContent(), /loads nothing/);
  await live.done();
});

test('one of many people is found by any number', async () => {
  const [head, ...rows] = readFileSync(file('people.csv'), 'utf8').trimEnd().split('\n');
  writeFileSync(file('many.csv'), [head, ...Array.from({ length: 510 }, (_, i) => rows[i % rows.length])].join('\n') + '\n');
  const args = ['explain', model('lending'), file('many.csv'), '--epsilon', '1%', '--nearest', '--quiet'];
  ellice(...args, '-o', file('many.html'));
  ellice(...args, '--format', 'json', '-o', file('many.json'));
  const { page, done } = await open(chrome, url('many.html'));
  const number = page.getByRole('spinbutton', { name: 'Person' });
  for (const [typed, shown] of [['1.5', '2'], ['-3', '1'], ['9999', '510'], ['', '1']]) {
    await number.fill(typed);
    await page.keyboard.press('Tab');
    assert.equal(await number.inputValue(), shown, typed);
    assert.match(await page.locator('#form-title').textContent(), /^Person \d+$/);
  }
  await done();
});

test('verify.html shows what is wrong first, and keeps files of the same name apart', async () => {
  const answers = JSON.parse(readFileSync(file('many.json'), 'utf8'));
  answers.results[500].certificate.robust_logit += 1;
  writeFileSync(file('altered.json'), JSON.stringify(answers));
  const { page, done } = await open(chrome, pathToFileURL(VERIFY).href, { offline: true });
  const drop = (...names) => page.locator('#files').setInputFiles(names);
  const said = page.locator('[aria-live]');
  await drop(model('lending'), file('many.json'));
  await page.locator('.badge.fair').waitFor();
  assert.match(await said.textContent(), /Certificates hold 510 are proved; not all.*Not checked here.*that no allowed plan is nearer \(\d+\)/s);
  assert.equal(await page.locator('.badge.good').count(), 0);
  await drop(file('altered.json'));
  await page.locator('.badge.bad').waitFor();
  assert.match(await page.locator('.proof.bad').last().textContent(), /robust_logit is stated as/);
  assert.deepEqual(await findings(page), []);
  await page.getByRole('button', { name: 'Clear' }).click();
  mkdirSync(file('other'), { recursive: true });
  copyFileSync(model('lending-other'), file('other/lending.json'));
  await drop(model('lending'));
  await drop(file('other/lending.json'));
  await page.getByText('lending.json (2)').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await drop(model('lending'), model('iris3'), join(GOLDEN, 'certificates/classes.json'));
  await page.locator('.badge.good').waitFor();
  assert.match(await page.locator('.proof.good').textContent(), /gives class \w+ a lead of at least 0; with the strictest it is \d/);
  await done();
});

test('everybody is printed, each name in one line', async () => {
  const { page, done } = await open(chrome, url('demo.html'));
  await view(page, 'Everyone');
  const heights = () => page.locator('td button.link').evaluateAll((all) => all.map((one) => one.getClientRects().length === 1 && one.getBoundingClientRect().height < 32));
  assert.ok((await heights()).every(Boolean));
  await page.evaluate(() => { window.counted = 0; window.addEventListener('beforeprint', () => { window.counted = document.querySelectorAll('.people tbody tr').length; }); });
  await page.pdf({ format: 'A4' });
  assert.equal(await page.evaluate(() => window.counted), 95);
  assert.equal(await page.locator('.people tbody tr').count(), 50);
  await done();
});

test('a phone hides no focus and no column', async () => {
  const { page, done } = await open(chrome, url('demo.html'), { viewport: { width: 360, height: 640 } });
  for (let i = 0; i < 75; i++) await page.keyboard.press('Tab');
  for (let i = 0; i < 70; i++) {
    await page.keyboard.press('Shift+Tab');
    const hidden = await page.evaluate(() => {
      const e = document.activeElement, strip = document.querySelector('.verdict'), own = e.getBoundingClientRect(), above = strip.getBoundingClientRect();
      return !strip.contains(e) && e !== document.body && own.top >= above.top && own.bottom <= above.bottom ? e.outerHTML.slice(0, 80) : '';
    });
    assert.equal(hidden, '');
  }
  await view(page, 'Everyone');
  await page.getByRole('combobox', { name: 'Groups by' }).selectOption('education');
  assert.ok(await page.locator('.groups .scroll').evaluate((region) => region.scrollWidth <= region.clientWidth), 'groups are cut');
  assert.ok(await page.locator('.people tbody td').first().isVisible(), 'numbers are hidden');
  await done();
});

test('captions stand under their bars', async () => {
  const { page, done } = await open(chrome, url('demo.html'));
  const offsets = await page.locator('.strip').evaluateAll((all) => all.flatMap((strip) => {
    const middle = (box) => box.left + box.width / 2, captions = [...strip.querySelectorAll('.scale span')];
    return captions.map((one, i) => Math.abs(middle(one.getBoundingClientRect()) - middle(strip.querySelectorAll('rect.bar')[i].getBoundingClientRect())));
  }));
  assert.ok(offsets.length >= 10 && offsets.every((offset) => offset < 4), offsets.join(' '));
  await done();
});

test('the token is asked for wherever it is missing', async () => {
  const tokens = file('token');
  writeFileSync(tokens, 'correct-horse-battery-staple-0123456789\n', { mode: 0o600 });
  const own = await serve(0, '--token-file', tokens);
  const { page, context } = await open(chrome, own.url, {}, /401/);
  await page.getByLabel('Token').fill('correct-horse-battery-staple-0123456789');
  await page.getByRole('button', { name: 'Use it' }).click();
  await page.locator('.verdict').waitFor();
  writeFileSync(tokens, 'another-horse-battery-staple-9876543210\n', { mode: 0o600 });
  own.hangUp();
  await page.waitForTimeout(1500);
  await view(page, 'Everyone');
  await page.getByRole('button', { name: 'Find plans for everyone' }).click();
  await page.getByLabel('Token of this service').fill('another-horse-battery-staple-9876543210');
  await page.getByRole('button', { name: 'Use it' }).click();
  await page.locator('.legend').filter({ hasText: 'Certified plan' }).waitFor();
  await context.close();
  await own.stop();
});
