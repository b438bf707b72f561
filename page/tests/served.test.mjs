// The page as the service serves it, in Chromium: what needs a search, a token, and a server that comes and goes.
// Environment: ELLICE, CHROMIUM, GOLDEN, WORK (a folder).
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { browser, findings, open } from './browser.mjs';
import { makeEvil } from './models.mjs';
import { entry, find, serve, served } from './service.mjs';

const { ELLICE, GOLDEN, WORK } = process.env;
mkdirSync(WORK, { recursive: true });

let chrome, service;
before(async () => {
  chrome = await browser();
  service = await serve(0);
});
after(async () => {
  await chrome?.close();
  await service?.stop();
});

/** Somebody whom the demo's model declines. */
async function typeApplicant(page) {
  for (const [label, value] of [['income, EUR/year', '22000'], ['debt, EUR', '18000'], ['savings, EUR', '0']]) {
    await entry(page, label).fill(value);
    await page.keyboard.press('Tab');
  }
}

test('types an applicant, finds plans, and confirms them itself', async () => {
  const { page, done } = await open(chrome, service.url);
  await page.locator('.verdict').waitFor();
  await typeApplicant(page);
  assert.equal(await page.locator('.verdict h2').textContent(), 'No.');
  await find(page);
  assert.match(await page.locator('.proof').first().textContent(), /Checked again by this page/);
  assert.ok((await page.locator('.changes li').count()) >= 1);
  assert.ok((await page.locator('circle.point').count()) >= 3, 'the curve is drawn');
  assert.deepEqual(await findings(page), []);
  await done();
});

test('locks what the plan used, adds a limit, and gets another plan', async () => {
  const { page, done } = await open(chrome, service.url);
  await page.locator('.verdict').waitFor();
  await typeApplicant(page);
  await page.getByRole('button', { name: 'Lock income' }).click();
  await page.getByRole('button', { name: 'Limits of debt' }).click();
  await page.getByLabel('at least').fill('1000');
  await page.keyboard.press('Tab');
  await page.getByRole('button', { name: 'Find plans' }).click();
  await page.locator('.plan .badge').filter({ hasNotText: 'Not asked' }).waitFor();
  await page.getByRole('button', { name: 'Find plans' }).waitFor();
  assert.doesNotMatch(await page.locator('.changes').first().textContent().catch(() => ''), /income/);
  assert.doesNotMatch(await page.locator('section.plan').textContent(), /does not confirm/);
  await done();
});

test('adds a rule and says what is hard, and gets plans that keep to it', async () => {
  const { page, done } = await open(chrome, service.url);
  await page.locator('.verdict').waitFor();
  await typeApplicant(page);
  await find(page);
  const before = await page.locator('.changes').first().textContent();
  await page.getByRole('button', { name: 'Add a rule' }).click();
  const rule = page.getByRole('form', { name: 'A new rule' });
  await rule.getByLabel('Feature').selectOption('debt');
  await rule.getByLabel('Number').fill('0.01');
  await rule.getByLabel('Times').selectOption('income');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByText('Values or wishes were changed since').waitFor();
  await page.getByRole('button', { name: 'search again' }).click();
  await page.getByText('Values or wishes were changed since').waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Find plans' }).waitFor();
  assert.notEqual(await page.locator('.changes').first().textContent(), before);
  for (const tab of await page.getByRole('tab').all()) {
    await tab.click();
    await page.getByRole('button', { name: 'Try the plan' }).click();
    const [debt, income] = [Number(await entry(page, 'debt, EUR').inputValue()), Number(await entry(page, 'income, EUR/year').inputValue())];
    assert.ok(debt <= 0.01 * income, `${debt} of ${income}`);
    assert.doesNotMatch(await page.locator('.verdict').textContent(), /Not allowed/);
    assert.match(await page.locator('.proof').first().textContent(), /Checked again by this page/);
  }
  // What is very hard is changed less.
  await page.getByRole('button', { name: 'As it is now' }).click();
  const raised = async () => { await page.getByRole('tab').last().click(); return Number((/income from [\d\s]+ to ([\d\s]+)/u.exec(await page.locator('section.plan').textContent())?.[1] ?? '0').replace(/\D/g, '')); };
  const usual = await raised();
  await page.getByRole('button', { name: 'Limits of income' }).click();
  await page.getByLabel('for you this is').selectOption('5');
  await page.getByRole('button', { name: 'Find plans' }).click();
  await page.getByText('Values or wishes were changed since').waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Find plans' }).waitFor();
  assert.ok((await raised()) < usual, 'income is raised less');
  assert.match(await page.locator('.proof').first().textContent(), /Checked again by this page/);
  await done();
});

test('unlocks again what was locked for a search', async () => {
  const { page, done } = await open(chrome, service.url);
  await page.locator('.verdict').waitFor();
  await typeApplicant(page);
  const lock = page.getByRole('button', { name: 'Lock income' });
  await lock.click();
  await find(page);
  await lock.click();
  assert.equal(await lock.getAttribute('aria-pressed'), 'false');
  await find(page);
  assert.match(await page.locator('.changes').first().textContent(), /income/);
  await done();
});

test('looks at somebody else while plans are searched, and finds plans for everyone', async () => {
  const { page, done } = await open(chrome, service.url);
  await page.locator('.verdict').waitFor();
  const first = await page.locator('#form-title').textContent();
  await page.route('**/api/explain', async (route) => { await new Promise((resolve) => setTimeout(resolve, 600)); await route.continue(); });
  await page.getByRole('button', { name: 'Find plans' }).click();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('button', { name: 'Find plans' }).waitFor();
  assert.match(await page.locator('.plan .badge').textContent(), /Not asked/);
  assert.notEqual(await page.locator('#form-title').textContent(), first);
  await page.getByRole('button', { name: 'Previous' }).click();
  assert.match(await page.locator('.proof').first().textContent(), /Checked again/);
  await page.locator('nav').getByRole('button', { name: 'Everyone' }).click();
  await page.getByRole('button', { name: 'Find plans for everyone' }).click();
  await page.getByRole('button', { name: 'Find plans for everyone' }).or(page.getByRole('button', { name: 'Stop' })).waitFor({ state: 'hidden' });
  assert.doesNotMatch(await page.locator('.legend').textContent(), /Not asked/);
  await page.locator('tbody button.link').last().click();
  assert.match(await page.locator('.plan .badge').textContent(), /plan|No change/);
  assert.doesNotMatch(await page.locator('section.plan').textContent(), /does not confirm|Values or wishes/);
  assert.deepEqual(await findings(page), []);
  await done();
});

test('asks which of several models', async () => {
  const models = join(GOLDEN, 'models');
  const own = await served(join(models, 'lending.json'), join(models, 'loans.json'), '--port', '0');
  const { page, done } = await open(chrome, own.url);
  await page.getByText('Which one?').waitFor();
  assert.deepEqual(await findings(page), []);
  await page.getByRole('button', { name: 'loans' }).click();
  await page.locator('.verdict').waitFor();
  assert.match(page.url(), /model=loans/);
  await page.getByRole('button', { name: 'Find plans' }).click();
  await page.locator('.plan .badge').filter({ hasNotText: 'Not asked' }).waitFor();
  await page.getByRole('button', { name: 'Another model' }).click();
  await page.getByRole('button', { name: 'lending' }).click();
  await page.getByLabel('income, slider').waitFor();
  await done();
  await own.stop();
});

test('takes names, levels, ids and the name of a model for text, under the policy of the service', async () => {
  const run = (...args) => { const done = spawnSync(ELLICE, args, { encoding: 'utf8' }); assert.equal(done.status, 0, done.stderr); };
  makeEvil(run, WORK);
  const name = '<img src=x onerror=alert(3)>';
  copyFileSync(join(WORK, 'evil.json'), join(WORK, `${name}.json`));
  const own = await served(join(WORK, `${name}.json`), '--people', join(WORK, 'evil-people.csv'), '--id', 'id', '--port', '0');
  const { page, faults } = await open(chrome, own.url);
  await page.locator('.verdict').waitFor();
  assert.match(await page.locator('#form-title').textContent(), /^i<\/script><img/);
  assert.match(await page.locator('h1').textContent(), /_img_src_x_onerror_alert_3__/);
  await page.getByRole('button', { name: 'Find plans' }).click();
  await page.locator('.plan .badge').filter({ hasNotText: 'Not asked' }).waitFor();
  await page.getByRole('button', { name: 'Find plans' }).waitFor();
  await page.locator('nav').getByRole('button', { name: 'Everyone' }).click();
  await page.getByRole('combobox', { name: 'Groups by' }).selectOption('2');
  await page.locator('nav').getByRole('button', { name: 'What was asked' }).click();
  assert.equal(await page.locator('img, iframe, object').count(), 0);
  assert.deepEqual(faults, []);
  // What is not the page's own script does not run, however it came into the page.
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.body.append(script);
    document.body.insertAdjacentHTML('beforeend', '<b onclick="window.ran = true" id="trap">x</b>');
    document.getElementById('trap').click();
    return window.ran === true;
  });
  assert.equal(ran, false);
  await own.stop();
  await page.context().close();
});

test('asks again with another ε', async () => {
  const { page, done } = await open(chrome, service.url);
  await page.locator('.verdict').waitFor();
  await typeApplicant(page);
  await find(page);
  const cost = await page.locator('.tabs, .changes').first().textContent();
  const slider = page.locator('.frontier input[type=range]');
  await slider.focus();
  for (let i = 0; i < 40; i++) await page.keyboard.press('ArrowRight');
  await page.getByRole('button', { name: 'Find plans' }).click();
  // Not waitForFunction, which evaluates text again and again, and the policy of the page forbids that.
  const shown = page.locator('.tabs, .changes').first();
  for (let i = 0; i < 300 && (await shown.textContent()) === cost; i++) await page.waitForTimeout(100);
  assert.notEqual(await shown.textContent(), cost);
  assert.match(await page.locator('.proof').first().textContent(), /Checked again by this page/);
  await done();
});

test('says that the service was stopped, keeps what is there, and goes on when it is back', async () => {
  const own = await serve(0);
  const { page, context } = await open(chrome, own.url, {}, /./);
  await page.locator('.verdict').waitFor();
  await typeApplicant(page);
  await own.stop();
  await page.getByRole('button', { name: 'Find plans' }).click();
  await page.getByText('The service does not answer').waitFor();
  assert.equal(await entry(page, 'income, EUR/year').inputValue(), '22000');
  const again = await serve(own.port);
  await find(page);
  assert.match(await page.locator('.proof').first().textContent(), /Checked again/);
  await context.close();
  await again.stop();
});

test('wants the right token', async () => {
  const file = join(WORK, 'token');
  writeFileSync(file, 'correct-horse-battery-staple-0123456789\n', { mode: 0o600 });
  const own = await serve(0, '--token-file', file);
  const { page, context } = await open(chrome, own.url, {}, /401/);
  await page.getByText('This service wants a token.').waitFor();
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Use it' }).click();
  await page.getByText('This token is not the right one.').waitFor();
  assert.deepEqual(await findings(page), []);
  await page.getByLabel('Token').fill('correct-horse-battery-staple-0123456789');
  await page.getByRole('button', { name: 'Use it' }).click();
  await page.locator('.verdict').waitFor();
  assert.doesNotMatch(page.url(), /correct-horse/);
  await context.close();
  await own.stop();
});
