import { Engine } from "../../src/engine/engine.ts";
import { type Command, type Kernel, kernel } from "../../src/kernel/kernel.ts";
import type { Outcome } from "../../src/kernel/outcome.ts";
import type { Tx } from "../../src/kernel/tx.ts";
import { openStoreAt } from "../../src/library/open.ts";
import { answer } from "./child.ts";

/** Commands that all write one record, as a quota or a wide fan-in would be written. */
const [url = "", partitions = "8"] = process.argv.slice(2);
const CALLERS = 16;

function count(tx: Tx): Outcome {
	const { count } = tx.get<{ count: number }>("counter:hot") ?? { count: 0 };
	tx.put("counter:hot", { count: count + 1 });
	return { ok: true };
}

const store = await openStoreAt(url, { partitions: Number(partitions) });
const counting: Kernel = { ...kernel, rules: { ...kernel.rules, ...{ count } } };
const engine = new Engine({ store, kernel: counting });
await engine.start();

answer({
	async count(commands: number) {
		let left = commands;
		let failed = 0;
		const caller = async () => {
			while (left-- > 0)
				await engine
					.runner(0)
					.run({ op: "count" } as unknown as Command)
					.catch(() => failed++);
		};
		await Promise.all(Array.from({ length: CALLERS }, caller));
		const { worstLosses, units, lost } = engine.counters;
		return { failed, worstLosses, units, lost };
	},
	async counted() {
		const { records } = await store.read(0, ["counter:hot"]);
		return (JSON.parse(records[0]?.doc || '{"count":0}') as { count: number }).count;
	},
	close: () => engine.close(),
});
