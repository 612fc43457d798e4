import { nearestName } from "../../problem/nearest_name.ts";
import { Problem } from "../../problem/problem.ts";
import { parseJsonObject } from "../../protocol/json_object.ts";
import { type CheckoutFault, invalidCheckout } from "../invalid_checkout.ts";
import type { CheckoutItem, CheckoutMode } from "../providers/billing_provider.ts";

export function parseCheckoutBody(bytes: Uint8Array) {
  const fields = parseObject(bytes);
  const faults: CheckoutFault[] = [];
  const read = <T>(name: string, parse: (value: unknown) => T | null, must: string) => {
    const value = fields.get(name);
    if (value === undefined || value === null) return undefined;
    const parsed = parse(value);
    if (parsed === null) faults.push({ path: name, message: must });
    return parsed ?? undefined;
  };
  for (const name of fields.keys()) {
    if (names.includes(name)) continue;
    const near = nearestName(name, names);
    const hint = near === null ? "" : `: did you mean "${near}"?`;
    faults.push({ path: name.slice(0, 100), message: `is unknown${hint}` });
  }
  const body = {
    planKey: read("planKey", shortText, "must be the key of a plan"),
    items: read(
      "items",
      (value) => itemsOf(value, faults),
      'must be a list of { "priceId", "quantity" }, 1 to 20 of them',
    ),
    mode: read("mode", modeOf, 'must be "subscription" or "payment"'),
    successUrl: read("successUrl", shortText, "must be a URL"),
    cancelUrl: read("cancelUrl", shortText, "must be a URL"),
    customerEmail: read("customerEmail", emailOf, "must be an e-mail address"),
    metadata: read("metadata", metadataOf, "must be an object of 20 short strings at most") ?? {},
  };
  if ((body.planKey === undefined) === (body.items === undefined) && faults.length === 0) {
    faults.push({ path: "planKey", message: "must be there, or items in place of it" });
  }
  if (faults.length > 0) throw invalidCheckout(faults);
  return body;
}

const names: readonly string[] = [
  ...["planKey", "items", "mode", "successUrl", "cancelUrl", "customerEmail", "metadata"],
];

function parseObject(bytes: Uint8Array): ReadonlyMap<string, unknown> {
  const object = parseJsonObject(bytes);
  if (object !== null) return new Map(Object.entries(object));
  throw new Problem("invalid-body", "Cannot read this body: it is not a JSON object");
}

function shortText(value: unknown): string | null {
  return typeof value === "string" && value.length > 0 && value.length <= 2_000 &&
      !/[\p{Cc}]/u.test(value) && value.isWellFormed()
    ? value
    : null;
}

function modeOf(value: unknown): CheckoutMode | null {
  return value === "subscription" || value === "payment" ? value : null;
}

function emailOf(value: unknown): string | null {
  return typeof value === "string" && /^[^\s@]{1,100}@[^\s@]{1,100}$/.test(value) ? value : null;
}

function itemsOf(value: unknown, faults: CheckoutFault[]): readonly CheckoutItem[] | null {
  if (!Array.isArray(value) || value.length === 0 || value.length > 20) return null;
  const all: readonly unknown[] = value;
  return all.map((item, index) => itemOf(item, `items.${index}`, faults));
}

function itemOf(value: unknown, path: string, faults: CheckoutFault[]): CheckoutItem {
  const { priceId, quantity = 1, ...others }: Record<string, unknown> = { ...Object(value) };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    faults.push({ path: `${path}.${unknown.slice(0, 100)}`, message: "is unknown" });
  }
  const isId = typeof priceId === "string" && /^[\x21-\x29\x2b-\x7e]{1,200}$/.test(priceId);
  if (!isId) faults.push({ path: `${path}.priceId`, message: "must be the id of a price" });
  const isQuantity = typeof quantity === "number" && Number.isSafeInteger(quantity) &&
    quantity >= 1 && quantity <= maxQuantity;
  if (!isQuantity) {
    const message = `must be a whole number from 1 to ${maxQuantity}`;
    faults.push({ path: `${path}.quantity`, message });
  }
  return { priceId: isId ? priceId : "", quantity: isQuantity ? quantity : 1 };
}

const maxQuantity = 1_000_000;

function metadataOf(value: unknown): Readonly<Record<string, string>> | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const entries = Object.entries(value);
  const areShort = entries.length <= 20 &&
    entries.every(([name, text]) =>
      /^[\w.-]{1,40}$/.test(name) && typeof text === "string" && text.length <= 400
    );
  return areShort ? Object.fromEntries(entries) : null;
}
