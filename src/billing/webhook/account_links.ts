import type { KeyValue } from "../../kv/key_value.ts";
import type { BillingProvider } from "../providers/billing_provider.ts";
import { billingKeys } from "./billing_keys.ts";

/**
 * The links between the accounts of a service and the customers of a provider, from events that
 * name both. Later events, of renewals, may name only the customer.
 */
export class AccountLinks {
  readonly #provider: string;
  readonly #isShared: boolean;
  readonly #store: KeyValue;

  /** Makes no call yet. */
  constructor(
    { name, findsCustomerByEmail = false }: Pick<BillingProvider, "name" | "findsCustomerByEmail">,
    store: KeyValue,
  ) {
    this.#provider = name;
    this.#isShared = findsCustomerByEmail;
    this.#store = store;
  }

  async accountOf(customerId: string): Promise<string | undefined> {
    return textOf(await this.#store.get(billingKeys.accountOf(this.#provider, customerId)));
  }

  async customerOf(accountId: string): Promise<string | undefined> {
    const customer = textOf(
      await this.#store.get(billingKeys.customerOf(this.#provider, accountId)),
    );
    if (customer === undefined || !this.#isShared) return customer;
    // Earlier versions linked a customer to every account that paid with the customer's address.
    return await this.accountOf(customer) === accountId ? customer : undefined;
  }

  /**
   * Links a customer to an account. The last linked customer of an account is used. Returns false
   * if the customer remains linked to another account. If buyers can enter the address of any
   * customer, only the operator of the service can reassign a customer.
   */
  async remember(accountId: string, customerId: string, isOfDeployer: boolean): Promise<boolean> {
    const keys = [
      billingKeys.accountOf(this.#provider, customerId),
      billingKeys.customerOf(this.#provider, accountId),
    ];
    for (;;) {
      const entries = await this.#store.getMany(keys);
      const [account, customer] = entries.map(textOf);
      if (account === accountId && customer === customerId) return true;
      const isOfAnother = account !== undefined && account !== accountId;
      if (this.#isShared && isOfAnother && !isOfDeployer) return false;
      const { ok } = await this.#store.commit({
        checks: entries.map(({ versionstamp }, index) => ({
          key: keys[index] ?? [],
          versionstamp,
        })),
        mutations: [accountId, customerId].map((value, index) =>
          ({ kind: "set", key: keys[index] ?? [], value }) as const
        ),
      });
      if (ok) return true;
    }
  }
}

function textOf({ value }: { readonly value: unknown }): string | undefined {
  return typeof value === "string" ? value : undefined;
}
