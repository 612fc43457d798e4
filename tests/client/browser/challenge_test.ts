import { assert, assertEquals } from "@std/assert";
import { startSite } from "./browser_site.ts";
import { createBrowserTests } from "./in_browser.ts";

const test = createBrowserTests();

test("a proof of work is found by a worker, while the page does its other work", async ({ open }) => {
  await using site = await startSite();
  const page = await open(site.origin);
  const workers: string[] = [];
  page.on("worker", (worker) => workers.push(worker.url()));
  const isWorker = (url: string) => url.startsWith("data:text/javascript");
  let most = 0;
  // By chance, the page can find a solution before a worker has begun.
  for (let round = 0; round < 20 && (most <= 5 || !workers.some(isWorker)); round++) {
    const { title, turns } = await page.evaluate<{ title: string; turns: number }>(`(async () => {
      let turns = 0;
      const count = setInterval(() => turns++, 5);
      const { value } = await api.proofs.create({ title: "Tea" });
      clearInterval(count);
      return { title: value.title, turns };
    })()`);
    assertEquals(title, "Tea");
    most = Math.max(most, turns);
  }
  assert(workers.some(isWorker), `workers: ${workers}`);
  assert(most > 5, `${most} turns`);
  const { requests } = site;
  assertEquals(requests.filter((one) => /proofs|find_nonce/.test(one)).slice(0, 3), [
    "POST /api/proofs 428",
    "GET /__service/client/find_nonce.js 200",
    "POST /api/proofs 201",
  ]);
});

test("a CAPTCHA that is asked for is an error with its provider, site key and action", async ({ open }) => {
  await using site = await startSite();
  const page = await open(site.origin);
  const refused = await page.evaluate(`api.asked.create({ title: "Tea" })
    .catch(({ name, slug, status, captcha }) => ({ name, slug, status, captcha }))`);
  assertEquals(refused, {
    ...{ name: "ServiceError", slug: "captcha-required", status: 428 },
    captcha: { provider: "own", siteKey: "the-site", action: "post" },
  });
});
