import { findProgram } from "../support/debian_packages.ts";
import { twoFreePorts } from "../support/ports.ts";
import { proxyForTests, type ProxyName, type ProxyProgram } from "../support/proxies.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { makeCertificates } from "../support/tls_proxy.ts";
import { proxiedService } from "./proxied_service.ts";
import { proxyCases, proxyNames } from "./proxy_cases.ts";
import { type Setting, startProxy } from "./start_proxies.ts";
import type { Site } from "./through.ts";

const folder = await Deno.makeTempDir({ prefix: "resource-api-proxies-" });
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const titles: Readonly<Record<Setting, string>> = {
  documented: "as the documents configure it",
  inner: "as the documents configure an inner proxy",
  usual: "with a usual configuration",
};

const withoutTls = await findProgram(["openssl"]) === null ? "there is no openssl" : null;

for (const name of proxyNames) {
  const program = await proxyForTests(name, folder);
  for (const setting of ["documented", "inner", "usual"] as const) {
    const missing = "missing" in program ? program.missing : withoutTls;
    const title = `through ${name} ${titles[setting]}`;
    testUnless(missing, title, (context) => testProxy(name, program, setting, context));
  }
}

async function testProxy(
  proxy: ProxyName,
  program: ProxyProgram,
  setting: Setting,
  context: Deno.TestContext,
): Promise<void> {
  if ("missing" in program) throw new Error(program.missing);
  await using scratch = await scratchFolder();
  await Deno.chmod(scratch.path, 0o755);
  await makeCertificates(scratch.path);
  const [certificate, key] = await Promise.all(
    ["leaf.pem", "leaf.key"].map((file) => Deno.readTextFile(`${scratch.path}/${file}`)),
  );
  await Deno.writeTextFile(`${scratch.path}/both.pem`, `${certificate}${key}`);
  await using service = await proxiedService();
  await using mounted = await proxiedService({ mountedAt: "/v1" });
  const [plainPort, tlsPort] = twoFreePorts();
  const ports = {
    ...{ plain: plainPort, tls: tlsPort },
    ...{ service: service.port, mounted: mounted.port },
  };
  await using _proxy = await startProxy(proxy, setting, { program, folder: scratch.path, ports });
  const ca = await Deno.readTextFile(`${scratch.path}/ca.pem`);
  using plain = Deno.createHttpClient({ http2: false });
  using secure = Deno.createHttpClient({ http1: false, caCerts: [ca] });
  const sites: readonly Site[] = [
    { name: "HTTP/1.1", url: `http://localhost:${ports.plain}`, client: plain },
    ...(setting === "usual"
      ? []
      : [{ name: "HTTP/2", url: `https://localhost:${ports.tls}`, client: secure } as const]),
  ];
  for (const { name, settings, work } of proxyCases) {
    if (!settings.includes(setting)) continue;
    await context.step(name, () => inTime(work({ proxy, setting, ports, service, sites })));
  }
}

/** Rejects after a minute: an event that a proxy holds back would never come. */
async function inTime(work: Promise<void>): Promise<void> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new Error("nothing came for a minute")), 60_000);
  try {
    await Promise.race([work, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}
