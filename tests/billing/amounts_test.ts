import { assert, assertEquals } from "@std/assert";
import type { BillingOptions } from "../../src/billing/open_billing.ts";
import { type Delivery, ours, type VendorName } from "./signing.ts";
import { providerOf, type TestBilling, testBilling } from "./vendors.ts";

const plans = [
  { key: "pro", priceId: "11", credits: 100 },
  { key: "big", priceId: "13", credits: 1000 },
  { key: "pack", priceId: "15", type: "one_time", credits: 50 },
  { key: "seat", priceId: "17" },
] as const;

/** A line of what was bought, as every vendor but Lemon Squeezy reports it. */
interface Line {
  readonly price: string;
  readonly amount: number;
  readonly quantity?: unknown;
  readonly isProration?: boolean;
  readonly discount?: number;
}

/** One payment. */
interface Situation {
  readonly name: string;
  readonly reason?: "create" | "cycle" | "update";
  readonly lines: readonly Line[];
  /** What was paid in cash; the sum of the lines unless set. */
  readonly cash?: number;
  readonly options?: Partial<BillingOptions>;
  /** The credits, or why there are none. */
  readonly expected: number | string;
}

const situations: readonly Situation[] = [
  { name: "a new subscription", lines: [{ price: "11", amount: 1000 }], expected: 100 },
  { name: "a renewal", reason: "cycle", lines: [{ price: "11", amount: 1000 }], expected: 100 },
  {
    name: "a renewal from the balance",
    ...{ reason: "cycle", lines: [{ price: "11", amount: 1000 }], cash: 0, expected: 100 },
  },
  {
    name: "a renewal partly from the balance",
    ...{ reason: "cycle", lines: [{ price: "11", amount: 1000 }], cash: 1, expected: 100 },
  },
  {
    name: "month to year",
    reason: "update",
    lines: [
      { price: "13", amount: 12_000 },
      { price: "11", amount: -900, isProration: true },
    ],
    expected: 1000,
  },
  {
    name: "year to month, from what is left of the year",
    reason: "update",
    lines: [
      { price: "11", amount: 1000 },
      { price: "13", amount: -9000, isProration: true },
    ],
    cash: 0,
    expected: "paid-by-credit",
  },
  {
    name: "month to year, from the balance but for 0.01",
    reason: "update",
    lines: [
      { price: "13", amount: 12_000 },
      { price: "11", amount: -900, isProration: true },
    ],
    cash: 1,
    expected: "paid-by-credit",
  },
  {
    name: "month to year, from the balance",
    reason: "update",
    lines: [{ price: "13", amount: 12_000 }],
    cash: 0,
    expected: "paid-by-credit",
  },
  {
    name: "a change with a coupon of 100 % for the new price",
    reason: "update",
    lines: [
      { price: "11", amount: 1000, discount: 1000 },
      { price: "13", amount: -9000, isProration: true },
    ],
    cash: 0,
    expected: "proration",
  },
  {
    name: "an upgrade within the period",
    reason: "update",
    lines: [
      { price: "13", amount: 5000, isProration: true },
      { price: "11", amount: -500, isProration: true },
    ],
    expected: "proration",
  },
  {
    name: "a renewal with the proration of a change before it",
    reason: "cycle",
    lines: [
      { price: "13", amount: 10_000 },
      { price: "13", amount: 5000, isProration: true },
      { price: "11", amount: -500, isProration: true },
    ],
    expected: 1000,
  },
  { name: "a trial", lines: [{ price: "11", amount: 0 }], expected: "zero-amount" },
  {
    name: "a trial where that grants",
    ...{ lines: [{ price: "11", amount: 0 }], options: { grantOnZeroAmount: true }, expected: 100 },
  },
  {
    name: "a change within a trial where trials grant",
    reason: "update",
    lines: [{ price: "13", amount: 0 }],
    options: { grantOnZeroAmount: true },
    expected: "proration",
  },
  {
    name: "a coupon of 100 %",
    ...{ lines: [{ price: "11", amount: 1000, discount: 1000 }], expected: "zero-amount" },
  },
  {
    name: "a coupon of 90 %",
    ...{ lines: [{ price: "11", amount: 1000, discount: 900 }], expected: 100 },
  },
  { name: "another price", lines: [{ price: "99", amount: 1000 }], expected: "no-plan" },
  {
    name: "a plan without credits",
    lines: [{ price: "17", amount: 1000 }],
    expected: "no-credits",
  },
];

const quantities: readonly Situation[] = [
  { name: "three of it", lines: [{ price: "15", amount: 900, quantity: 3 }], expected: 150 },
  ...[1.5, -1, 0, "1.5", "1", "many", true, {}, 1e300, 2 ** 53].map((quantity) => ({
    name: `a quantity of ${JSON.stringify(quantity)}`,
    lines: [{ price: "15", amount: 900, quantity }],
    expected: "quantity",
  })),
];

let count = 0;
const sum = (lines: readonly Line[], of: (line: Line) => number) =>
  lines.reduce((sum, line) => sum + of(line), 0);
const netOf = ({ amount, discount = 0 }: Line) => amount - discount;

function stripePayment(situation: Situation, isOld: boolean): Delivery {
  const { lines, reason = "create" } = situation;
  const total = sum(lines, netOf);
  const object = {
    ...{ id: `in_${++count}`, object: "invoice", customer: "cus_1", currency: "usd" },
    billing_reason: `subscription_${reason}`,
    ...{ total, subtotal: sum(lines, ({ amount }) => amount) },
    amount_paid: Math.max(0, situation.cash ?? total),
    metadata: ours("stripe"),
    lines: {
      data: lines.map(({ price, amount, quantity = 1, isProration = false, discount = 0 }) => ({
        ...{ object: "line_item", amount, quantity },
        discount_amounts: discount === 0 ? [] : [{ amount: discount, discount: "di_1" }],
        ...isOld ? { price: { id: price }, proration: isProration } : {
          pricing: { price_details: { price, product: "prod_1" } },
          parent: { subscription_item_details: { proration: isProration } },
        },
      })),
    },
  };
  const head = { id: `evt_${count}`, created: 1_790_000_000, livemode: false };
  return { body: { ...head, type: "invoice.paid", data: { object } } };
}

/** As Paddle sends it since March 2024: a proration is a line, and a credit is of the balance. */
function paddlePayment({ lines, reason = "create", cash }: Situation): Delivery {
  const total = sum(lines, netOf);
  const paid = cash ?? Math.max(0, total);
  const one = ({ price, amount, quantity = 1, isProration = false }: Line) => ({
    quantity: amount < 0 ? -1 : quantity,
    price: { id: price },
    proration: isProration ? { rate: "0.48" } : null,
  });
  const data = {
    ...{ id: `txn_${++count}`, customer_id: "ctm_1", currency_code: "USD" },
    custom_data: ours("paddle"),
    origin:
      { create: "api", cycle: "subscription_recurring", update: "subscription_update" }[reason],
    items: lines.map(one),
    details: {
      totals: {
        ...{ total: String(total), credit: String(Math.max(0, total - paid)) },
        ...{ credit_to_balance: String(Math.max(0, -total)), grand_total: String(paid) },
      },
      line_items: lines.map((line) => ({
        ...one(line),
        ...{ price: undefined, price_id: line.price },
        totals: { subtotal: String(line.amount), total: String(netOf(line)) },
      })),
    },
  };
  const head = { event_id: `evt_${count}`, occurred_at: "2026-11-01T10:00:00Z" };
  return { body: { ...head, event_type: "transaction.completed", data } };
}

/** As Paddle sent it before: a proration was a credit, as the balance is. */
function oldPaddlePayment({ lines, reason = "create", cash }: Situation): Delivery {
  const charged = lines.filter(({ amount }) => amount >= 0);
  const { body } = paddlePayment({ name: "", expected: 0, reason, lines: charged });
  const total = sum(charged, netOf);
  const credit = -sum(lines.filter(({ amount }) => amount < 0), netOf);
  const grand_total = String(cash ?? Math.max(0, total - credit));
  const totals = { total: String(total), credit: String(credit), grand_total };
  // As made above.
  const { data, ...head } = body as { data: { details: object } };
  return { body: { ...head, data: { ...data, details: { ...data.details, totals } } } };
}

function polarPayment({ lines, reason = "create", cash }: Situation): Delivery {
  const total = sum(lines, netOf);
  const data = {
    ...{ id: `order-${++count}`, customer_id: "customer-1", currency: "usd" },
    product_id: lines[0]?.price,
    billing_reason: `subscription_${reason}`,
    ...{ net_amount: total, total_amount: total, due_amount: cash ?? total },
    discount_amount: sum(lines, ({ discount = 0 }) => discount),
    items: lines.map(({ price, amount, isProration = false }) => ({
      ...{ label: price, amount, proration: isProration, product_price_id: `price of ${price}` },
    })),
    metadata: ours("polar"),
  };
  const body = { type: "order.paid", timestamp: "2026-11-01T10:00:00Z", data };
  return { id: `msg_${count}`, body };
}

async function inWorld(
  vendor: VendorName,
  options: Partial<BillingOptions>,
  work: (world: TestBilling) => Promise<void>,
): Promise<void> {
  const world = await testBilling(vendor, { plans, ...options });
  try {
    await work(world);
  } finally {
    await world.close();
  }
}

/** The credits of a payment, or why there are none, as the event, the balance and the log say. */
async function outcomeOf({ seen, billing, observations }: TestBilling): Promise<number | string> {
  const paid = seen.filter(({ type }) => type === "payment.succeeded").at(-1);
  assert(paid !== undefined);
  assertEquals(await billing.credits.balance("ada"), paid.creditsToGrant ?? 0);
  const observed = observations.flatMap((one) =>
    one.kind === "ungranted_money" ? [[one.payment, one.reason]] : []
  );
  const { notGranted } = paid;
  const isMissing = notGranted !== undefined && !["no-credits", "other-event"].includes(notGranted);
  assertEquals(observed, isMissing ? [[paid.payment?.id ?? "", notGranted]] : []);
  return paid.creditsToGrant ?? notGranted ?? "no reason";
}

const byVendor = {
  "Stripe": ["stripe", (one: Situation) => stripePayment(one, false)],
  "Stripe before 2025": ["stripe", (one: Situation) => stripePayment(one, true)],
  "Paddle": ["paddle", paddlePayment],
  "Paddle before 2024": ["paddle", oldPaddlePayment],
  "Polar": ["polar", polarPayment],
} as const;

for (const [name, [vendor, deliveryOf]] of Object.entries(byVendor)) {
  // An order of Polar names no quantity.
  const all = vendor === "polar" ? situations : [...situations, ...quantities, {
    name: "a quantity of null, which Stripe has for prices without one",
    lines: [{ price: "15", amount: 900, quantity: null }],
    expected: vendor === "stripe" ? 50 : "quantity",
  }];
  Deno.test(`${name}: the lines that were bought grant, whatever they were paid from`, async () => {
    for (const situation of all) {
      await inWorld(vendor, situation.options ?? {}, async (world) => {
        assertEquals(await world.deliver(deliveryOf(situation)), 200, situation.name);
        assertEquals(
          [situation.name, await outcomeOf(world)],
          [situation.name, situation.expected],
        );
      });
    }
  });
}

Deno.test("Paddle: the balance of a customer was taken for the proration of a plan, and the reverse", async () => {
  const yearly = (left: number) => [
    { price: "13", amount: 12_000 },
    { price: "11", amount: -left, isProration: true },
  ];
  const update = { reason: "update" } as const;
  const situations: readonly Situation[] = [
    { ...update, name: "most is what is left", lines: yearly(9_000), expected: 1000 },
    { ...update, name: "all but 0.01", lines: yearly(11_999), expected: 1000 },
    {
      ...update,
      name: "a third from the balance",
      lines: yearly(900),
      cash: 7_400,
      expected: none,
    },
    { ...update, name: "0.01 from the balance", lines: yearly(900), cash: 11_099, expected: none },
    { ...update, name: "more is left than it costs", lines: yearly(12_500), expected: none },
    {
      name: "on the first day, by a rate of 1",
      ...{ ...update, lines: yearly(0).with(1, { price: "11", amount: -1000 }), expected: 1000 },
    },
  ];
  for (const situation of situations) {
    await inWorld("paddle", {}, async (world) => {
      await world.deliver(paddlePayment(situation));
      assertEquals([situation.name, await outcomeOf(world)], [situation.name, situation.expected]);
    });
  }
});

const none = "paid-by-credit";

/** Minutes of one hour. */
function at(minute: number): string {
  return new Date(Date.UTC(2026, 10, 1, 10, minute)).toISOString().replace("Z", "000Z");
}

const months = { end: "2026-12-01T10:00:00.000000Z", year: "2027-11-01T10:00:00.000000Z" };

function lemon(name: string, type: string, id: string, attributes: object): Delivery {
  const custom_data = ours("lemon-squeezy");
  return {
    body: {
      meta: { event_name: name, test_mode: true, custom_data },
      data: { type, id, attributes: { customer_id: 7, currency: "USD", ...attributes } },
    },
  };
}

function state(event: "created" | "updated", variant: string, minute: number, more: object = {}) {
  return lemon(`subscription_${event}`, "subscriptions", "21", {
    ...{ variant_id: Number(variant), status: "active", renews_at: months.end },
    ...{ created_at: at(0), updated_at: at(minute), ...more },
  });
}

function invoice(reason: string, minute: number, more: object = {}) {
  return lemon("subscription_payment_success", "subscription-invoices", `${++count}`, {
    ...{ subscription_id: 21, billing_reason: reason, created_at: at(minute) },
    ...{ subtotal: 1000, discount_total: 0, total: 1000, updated_at: at(59), ...more },
  });
}

const year = { renews_at: months.year };
const three = { first_subscription_item: { quantity: 3 } };

const lemonSituations: readonly (readonly [string, readonly Delivery[], number | string])[] = [
  ["a new one", [state("created", "11", 0), invoice("initial", 0)], 100],
  ["of before the first event", [state("created", "11", 5), invoice("initial", 0)], 100],
  ["three of it", [state("created", "11", 0, three), invoice("initial", 0)], 300],
  ...[1.5, null, "1", 0, -1].map((quantity) =>
    [`a quantity of ${JSON.stringify(quantity)}`, [
      state("created", "11", 0, { first_subscription_item: { quantity } }),
      invoice("initial", 0),
    ], "quantity"] as const
  ),
  ["of before an upgrade", [
    ...[state("created", "11", 0), state("updated", "13", 30), invoice("initial", 1)],
  ], 100],
  ["of before a downgrade", [
    ...[state("created", "13", 0), state("updated", "11", 30), invoice("renewal", 20)],
  ], 1000],
  ["of between two changes that come backwards", [
    ...[state("updated", "11", 40), state("updated", "13", 20), state("created", "11", 0)],
    invoice("renewal", 30),
  ], 1000],
  ["of after a state that changed nothing when it came", [
    ...[state("created", "13", 0), state("updated", "13", 20), state("updated", "11", 10)],
    invoice("renewal", 30),
  ], 1000],
  ["of after a change", [
    ...[state("created", "11", 0), state("updated", "13", 30), invoice("renewal", 31)],
  ], 1000],
  ["from the balance", [state("created", "11", 0), invoice("renewal", 9, { total: 0 })], 100],
  ["a coupon of 100 %", [
    state("created", "11", 0),
    invoice("initial", 0, { discount_total: 1000, total: 0 }),
  ], "zero-amount"],
  ["a trial", [
    state("created", "11", 0, { status: "on_trial" }),
    invoice("initial", 0, { subtotal: 0, total: 0 }),
  ], "zero-amount"],
  ["month to year", [
    ...[state("created", "11", 0), state("updated", "13", 30, year), invoice("updated", 30)],
  ], 1000],
  ["month to year, whose invoice is older than the state", [
    ...[state("created", "11", 0), state("updated", "13", 30, year), invoice("updated", 29)],
  ], 1000],
  ["a change within the period", [
    ...[state("created", "11", 0), state("updated", "13", 30), invoice("updated", 30)],
  ], "proration"],
  ["month to year from the balance but for 0.01", [
    ...[state("created", "11", 0), state("updated", "13", 30, year)],
    invoice("updated", 30, { total: 1 }),
  ], "paid-by-credit"],
  ["another variant", [state("created", "99", 0), invoice("initial", 0)], "no-plan"],
];

/** A provider whose API has one state of the subscription, or none; `asked` counts its calls. */
function lemonWith(now: Delivery | undefined) {
  const asked = { count: 0 };
  const fetch: typeof globalThis.fetch = () => {
    asked.count++;
    return Promise.resolve(
      now === undefined ? new Response("{}", { status: 404 }) : Response.json(Object(now).body),
    );
  };
  return { asked, provider: providerOf("lemon-squeezy", { fetch }) };
}

Deno.test("Lemon Squeezy: an invoice grants what its subscription was for at its time", async () => {
  for (const [name, deliveries, expected] of lemonSituations) {
    const minuteOf = ({ body }: Delivery) => Object(body).data.attributes.updated_at;
    const states = deliveries.filter(({ body }) => Object(body).data.type === "subscriptions");
    const now = states.sort((a, b) => minuteOf(a) < minuteOf(b) ? -1 : 1).at(-1);
    const { provider } = lemonWith(now);
    await inWorld("lemon-squeezy", { provider }, async (world) => {
      for (const delivery of deliveries) assertEquals(await world.deliver(delivery), 200, name);
      assertEquals([name, await outcomeOf(world)], [name, expected]);
    });
  }
});

/** A state whose item changed at a minute. */
function changed(variant: string, item: number, minute = item, more: object = {}, quantity = 1) {
  const first_subscription_item = { quantity, updated_at: at(item) };
  return state("updated", variant, minute, { first_subscription_item, ...more });
}

const renewal = { renews_at: "2027-01-01T10:00:00.000000Z" };

Deno.test("Lemon Squeezy: a change whose event comes later, or never, is asked for or read in a later event", async () => {
  const bought = [state("created", "11", 0), invoice("initial", 0)];
  const boughtBig = [state("created", "13", 0), invoice("initial", 0)];
  const yearly = changed("13", 25, 25, year);
  const cases: readonly {
    readonly name: string;
    readonly before: readonly Delivery[];
    readonly now?: Delivery;
    readonly invoice?: Delivery;
    readonly expected: number | string;
    readonly calls: number;
  }[] = [
    { name: "an upgrade", before: bought, now: changed("13", 25), expected: 1000, calls: 1 },
    { name: "a downgrade", before: boughtBig, now: changed("11", 25), expected: 100, calls: 1 },
    { name: "1 to 3", before: bought, now: changed("11", 9, 9, {}, 3), expected: 300, calls: 1 },
    { name: "at its very time", before: bought, now: changed("13", 30), expected: 1000, calls: 1 },
    { name: "after it", before: bought, now: changed("13", 35), expected: 100, calls: 1 },
    { name: "no change", before: bought, now: changed("11", 0, 31), expected: 100, calls: 1 },
    { name: "not known to the provider", before: bought, expected: 100, calls: 1 },
    {
      name: "of a new interval",
      ...{ before: bought, now: yearly, invoice: invoice("updated", 25), expected: 1000, calls: 1 },
    },
    {
      name: "within a period that was renewed since",
      before: bought.with(0, state("created", "11", 0, { renews_at: at(30) })),
      now: changed("13", 25, 31, renewal),
      invoice: invoice("updated", 25),
      ...{ expected: "proration", calls: 1 },
    },
    {
      name: "an upgrade that only the event of the renewal says",
      ...{ before: [...bought, changed("13", 25, 31, renewal)], expected: 1000, calls: 0 },
    },
    {
      name: "a downgrade that only the event of the renewal says",
      ...{ before: [...boughtBig, changed("11", 25, 31, renewal)], expected: 100, calls: 0 },
    },
    {
      name: "within a period, said by the event of the renewal alone",
      before: [
        ...bought.with(0, state("created", "11", 0, { renews_at: at(30) })),
        changed("13", 25, 31, renewal),
      ],
      invoice: invoice("updated", 25),
      ...{ expected: "proration", calls: 0 },
    },
  ];
  for (const { name, before, now, invoice: paid, expected, calls } of cases) {
    const { provider, asked } = lemonWith(now);
    await inWorld("lemon-squeezy", { provider }, async (world) => {
      for (const delivery of before) assertEquals(await world.deliver(delivery), 200, name);
      assertEquals(asked.count, 0, name);
      assertEquals(await world.deliver(paid ?? invoice("renewal", 30)), 200, name);
      const { creditsToGrant, notGranted } = Object(world.seen.at(-1));
      assertEquals([name, creditsToGrant ?? notGranted], [name, expected]);
      assertEquals([name, asked.count], [name, calls]);
    });
  }
});

Deno.test("Lemon Squeezy: where the provider does not answer, an invoice waits for it", async () => {
  await inWorld("lemon-squeezy", {}, async ({ deliver, billing }) => {
    await deliver(state("created", "11", 0));
    const renewed = invoice("renewal", 30);
    assertEquals(await deliver(renewed), 502);
    await deliver(changed("13", 25));
    assertEquals(await deliver(renewed), 502, "it may have changed again");
    await deliver(changed("13", 25, 31, renewal));
    assertEquals(await deliver(renewed), 200);
    assertEquals(await billing.credits.balance("ada"), 1000);
  });
});

Deno.test("Lemon Squeezy: what no event has said is asked, and not guessed", async () => {
  const subscription = {
    data: {
      ...{ type: "subscriptions", id: "21" },
      attributes: {
        ...{ customer_id: 7, variant_id: 13, status: "active", order_id: 5, ...year },
        first_subscription_item: { quantity: 1, updated_at: at(30) },
      },
    },
  };
  const order = { data: { attributes: { first_order_item: { variant_id: 11, quantity: 2 } } } };
  const fetch: typeof globalThis.fetch = (input) =>
    Promise.resolve(Response.json(String(input).includes("/orders/5") ? order : subscription));
  const cases: readonly (readonly [readonly Delivery[], number | string])[] = [
    [[invoice("renewal", 31)], 1000],
    [[invoice("initial", 0)], 200],
    [[invoice("renewal", 29)], "unknown-price"],
    [[state("created", "11", 0), invoice("updated", 30)], 1000],
  ];
  for (const [deliveries, expected] of cases) {
    const provider = providerOf("lemon-squeezy", { fetch });
    await inWorld("lemon-squeezy", { provider }, async (world) => {
      for (const delivery of deliveries) assertEquals(await world.deliver(delivery), 200);
      assertEquals(await outcomeOf(world), expected);
    });
  }
});

Deno.test("Lemon Squeezy: an order grants its quantity, and that of a subscription nothing", async () => {
  const orderOf = (variant: number, quantity: unknown, total = 1000) =>
    lemon("order_created", "orders", `${++count}`, {
      ...{ status: "paid", total, updated_at: at(0) },
      first_order_item: { variant_id: variant, quantity },
    });
  const cases: readonly (readonly [Delivery, number | string])[] = [
    ...[[orderOf(15, 2), 100], [orderOf(15, 1, 0), "zero-amount"]] as const,
    ...[[orderOf(15, 0.5), "quantity"], [orderOf(11, 1), "other-event"]] as const,
    ...[null, "1", 0, -1].map((one) => [orderOf(15, one), "quantity"] as const),
    [orderOf(15, undefined), 50],
  ];
  for (const [delivery, expected] of cases) {
    await inWorld("lemon-squeezy", {}, async (world) => {
      assertEquals(await world.deliver(delivery), 200);
      assertEquals(await outcomeOf(world), expected);
    });
  }
});

Deno.test("Stripe: credit notes before the payment, and payments outside of Stripe", async () => {
  const base = { name: "", lines: [{ price: "11", amount: 1000 }], cash: 0, expected: 0 };
  for (
    const [more, expected] of [
      [{ pre_payment_credit_notes_amount: 1000 }, "zero-amount"],
      [{ pre_payment_credit_notes_amount: 400 }, 100],
      [{ paid_out_of_band: true }, 100],
      [{ total: -5 }, "zero-amount"],
    ] as const
  ) {
    await inWorld("stripe", {}, async (world) => {
      const { body } = stripePayment(base, false);
      Object.assign(Object(body).data.object, more);
      assertEquals(await world.deliver({ body }), 200);
      assertEquals(await outcomeOf(world), expected);
    });
  }
});

Deno.test("Stripe: a change that is paid in part from the balance grants nothing", async () => {
  const lines = [
    { price: "13", amount: 12_000 },
    { price: "11", amount: -900, isProration: true },
  ];
  const base: Situation = { name: "", reason: "update", lines, expected: 0 };
  for (
    const [more, expected] of [
      [{ amount_paid: 11_099 }, "paid-by-credit"],
      [{ amount_paid: 0, amount_due: 11_100, paid_out_of_band: true }, 1000],
      [{ amount_paid: 0, amount_due: 100, paid_out_of_band: true }, "paid-by-credit"],
    ] as const
  ) {
    await inWorld("stripe", {}, async (world) => {
      const { body } = stripePayment(base, false);
      Object.assign(Object(body).data.object, more);
      assertEquals(await world.deliver({ body }), 200);
      assertEquals(await outcomeOf(world), expected);
    });
  }
});

Deno.test("Stripe: a payment intent of an account that names no price is observed", async () => {
  for (const name of ["accountId", "userId"]) {
    await inWorld("stripe", {}, async (world) => {
      const object = { object: "payment_intent", id: "pi_9", amount_received: 500, customer: "c" };
      const data = { object: { ...object, metadata: { [name]: "ada" } } };
      const head = { id: "evt_9", created: 1_790_000_000, livemode: false };
      const body = { ...head, type: "payment_intent.succeeded", data };
      assertEquals(await world.deliver({ body }), 200);
      assertEquals(await outcomeOf(world), "unknown-price");
    });
  }
});

Deno.test("Polar: an order grants its seats", async () => {
  for (
    const [seats, expected] of [
      ...[[3, 300], [null, 100], [0, "quantity"]] as const,
      ...[["1", "quantity"], [1.5, "quantity"], [-1, "quantity"]] as const,
    ]
  ) {
    await inWorld("polar", {}, async (world) => {
      const lines = [{ price: "11", amount: 1000 }];
      const delivery = polarPayment({ name: "", lines, expected: 0 });
      Object.assign(Object(delivery.body).data, { seats });
      assertEquals(await world.deliver(delivery), 200);
      assertEquals(await outcomeOf(world), expected);
    });
  }
});

Deno.test("a payment without an account says so in its event", async () => {
  await inWorld("stripe", {}, async ({ deliver, seen, observations }) => {
    const lines = [{ price: "11", amount: 1000 }];
    const { body } = stripePayment({ name: "", lines, expected: 0 }, false);
    Object.assign(Object(body).data.object, { customer: null, metadata: {} });
    assertEquals(await deliver({ body }), 200);
    assertEquals([seen[0]?.notGranted, observations[0]?.kind], [
      "no-account",
      "unattributed_money",
    ]);
  });
});

Deno.test("a checkout in code refuses a quantity that is no whole number from 1 on", async () => {
  await inWorld("stripe", {}, async ({ billing }) => {
    for (const quantity of [0, -1, 1.5, NaN, 2 ** 53]) {
      const request = { account: "ada", items: [{ priceId: "15", quantity }] };
      const error = await billing.checkout(request).catch((error) => error);
      assertEquals([error.status, error.details.errors[0].path], [422, "items.0.quantity"]);
    }
  });
});

Deno.test("Lemon Squeezy: an invoice of a time whose terms were dropped is of an unknown price", async () => {
  const subscription = {
    data: {
      ...{ type: "subscriptions", id: "21" },
      attributes: {
        ...{ customer_id: 7, variant_id: 11, status: "active" },
        first_subscription_item: { quantity: 1, updated_at: at(500) },
      },
    },
  };
  const fetch: typeof globalThis.fetch = () => Promise.resolve(Response.json(subscription));
  const provider = providerOf("lemon-squeezy", { fetch });
  await inWorld("lemon-squeezy", { provider }, async ({ deliver, seen }) => {
    await deliver(state("created", "13", 0));
    for (let minute = 1; minute <= 60; minute++) {
      await deliver(state("updated", minute % 2 === 0 ? "13" : "11", 5 * minute));
    }
    for (
      const [minute, expected] of [
        ...[[2, 1000], [7, "unknown-price"], [40, "unknown-price"], [54, "unknown-price"]] as const,
        ...[[56, 100], [301, 1000]] as const,
      ]
    ) {
      assertEquals(await deliver(invoice("renewal", minute)), 200);
      const { creditsToGrant, notGranted } = Object(seen.at(-1));
      assertEquals([minute, creditsToGrant ?? notGranted], [minute, expected]);
    }
  });
});
