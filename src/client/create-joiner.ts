import { errorFrom } from "../contract/errors.ts";
import type { CreateRequest } from "../contract/executions.ts";
import type { Created, CreatedItem } from "../contract/replies.ts";
import { bodyWith } from "./bodies.ts";
import { Joiner, type Settled } from "./joiner.ts";
import type { Transport } from "./transport.ts";

interface Item {
	text: string;
	/** Has an idempotency key: sent twice it makes one execution. */
	safe: boolean;
}

const MAX_ITEMS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

/** Submits that come together travel together. */
export class CreateJoiner {
	readonly #transport: Transport;
	readonly #joiner: Joiner<Item, Created>;

	constructor(transport: Transport) {
		this.#transport = transport;
		this.#joiner = new Joiner({
			maxItems: MAX_ITEMS,
			maxBytes: MAX_BYTES,
			sizeOf: ({ text }) => text.length,
			one: (item) => this.#one(item),
			many: (items) => this.#many(items),
		});
	}

	async create(request: CreateRequest): Promise<Created> {
		const item = { text: bodyWith("input", request), safe: Boolean(request?.idempotencyKey) };
		return item.text.length > MAX_BYTES ? this.#one(item) : this.#joiner.add(item);
	}

	#one({ text, safe }: Item): Promise<Created> {
		return this.#transport.json({
			method: "POST",
			path: "/v1/executions",
			body: text,
			repeat: safe ? "always" : "undone",
		});
	}

	/** When nobody knows whether a joint call was done, those with a key are sent again and the others are told. */
	async #many(items: Item[]): Promise<Settled<Created>[]> {
		const allSafe = items.every(({ safe }) => safe);
		try {
			const answer = await this.#transport.json<{ items: CreatedItem[] }>({
				method: "POST",
				path: "/v1/executions/batch",
				body: `{"items":[${items.map(({ text }) => text).join(",")}]}`,
				repeat: allSafe ? "always" : "undone",
			});
			return answer.items.map(settled);
		} catch (error) {
			if (allSafe) throw error;
			const safe = items.filter((item) => item.safe);
			const again = safe.length > 0 ? await this.#many(safe) : [];
			return items.map((item) => (item.safe ? (again.shift() ?? { error }) : { error }));
		}
	}
}

function settled({ ok, id, publicState, created, error }: CreatedItem): Settled<Created> {
	if (ok && id !== undefined && publicState !== undefined && created !== undefined) {
		return { answer: { id, publicState, created } };
	}
	return { error: errorFrom(error ?? { code: "internal", message: "no answer for this item", retryable: false }) };
}
