import { createHmac, hkdfSync } from "node:crypto";

/** The secrets that the vendors of the tests sign with. */
export const secrets = {
  stripe: "whsec_of_the_tests",
  "lemon-squeezy": "a-secret-of-tests",
  paddle: "pdl_ntfset_of_the_tests",
  polar: "whsec_dGhlIHRlc3RzJyBzZWNyZXQ=",
} as const;

export type VendorName = keyof typeof secrets;

export const vendorNames = Object.keys(secrets) as readonly VendorName[];

/** Signs a body as the vendor documents it; `id` is that of Standard Webhooks. */
export function signed(
  name: VendorName,
  body: string | Uint8Array,
  { at = Date.now(), id = "msg_1", secret = secrets[name] as string } = {},
): Record<string, string> {
  const seconds = String(Math.floor(at / 1000));
  const code = (prefix: string, key: string | Uint8Array = secret) =>
    createHmac("sha256", key).update(prefix).update(body);
  switch (name) {
    case "stripe":
      return { "stripe-signature": `t=${seconds},v1=${code(`${seconds}.`).digest("hex")}` };
    case "lemon-squeezy":
      return { "x-signature": code("").digest("hex") };
    case "paddle":
      return { "paddle-signature": `ts=${seconds};h1=${code(`${seconds}:`).digest("hex")}` };
    case "polar":
      return {
        "webhook-id": id,
        "webhook-timestamp": seconds,
        "webhook-signature": `v1,${code(`${id}.${seconds}.`).digest("base64")}`,
      };
  }
}

/** The secret of the service in the tests. */
export const serviceSecret = "sixteen or more characters";

/** The metadata of a checkout of the service, with its code as the contract has it. */
export function ours(
  provider: VendorName,
  { accountId = "ada", prices = "price_pro*1", mode = "subscription", secret = serviceSecret } = {},
): Record<string, string> {
  const key = hkdfSync("sha256", secret, "", "@svc/resource-api checkout", 32);
  const code = createHmac("sha256", new Uint8Array(key))
    .update(JSON.stringify([provider, accountId, prices, mode])).digest("base64url");
  return { accountId, prices, checkoutCode: `${mode}.${code}` };
}

/** An event to deliver; Polar's id is in a header. */
export interface Delivery {
  readonly body: unknown;
  readonly id?: string;
}

export const plans = [
  { key: "pro", priceId: "price_pro", credits: 100 },
  { key: "pack", priceId: "price_pack", type: "one_time", credits: 50 },
  { key: "pro-ls", priceId: "901", credits: 100 },
  { key: "pack-ls", priceId: "902", type: "one_time", credits: 50 },
] as const;
