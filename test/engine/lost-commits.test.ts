import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { type Command, type Kernel, kernel } from "../../src/kernel/kernel.ts";
import type { Outcome } from "../../src/kernel/outcome.ts";
import type { Tx } from "../../src/kernel/tx.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { type Notice, unitOf } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const count = (tx: Tx, { key }: { key: string }): Outcome => {
	tx.put(key, { count: (tx.get<{ count: number }>(key)?.count ?? 0) + 1 });
	return { ok: true };
};
const counting: Kernel = { ...kernel, rules: { ...kernel.rules, ...{ count } } };

/** An engine whose store's server is replaced by one that never had its commits, only those of somebody else. */
async function afterFailOver() {
	const clock = new VirtualClock();
	const [primary, replica] = [new MemoryStore(1, clock.now, true), new MemoryStore(1, clock.now, true)];
	let serving = primary;
	let tell: (notice: Notice) => void = () => {};
	const store = new Proxy(primary, {
		get(_, name) {
			if (name === "onNotice") return (listener: typeof tell) => (tell = listener);
			const value: unknown = Reflect.get(serving, name);
			return typeof value === "function" ? value.bind(serving) : value;
		},
	});
	const engine = new Engine({ store, clock, kernel: counting, engineId: "one" });
	const add = (key: string) => engine.runner(0).run({ op: "count", key } as unknown as Command);
	for (const key of ["hot", "hot", "cold", "cold"]) await add(`counter:${key}`);
	// The other's record has the version that this engine's had.
	const put = [{ key: "counter:hot", doc: '{"count":100}' }];
	const { records } = await primary.read(0, ["counter:hot"]);
	for (let number = 1; number <= (records[0]?.version ?? 0); number++) {
		const { time } = await replica.read(0, []);
		await replica.commit(0, { engine: "other", number, at: time, units: [unitOf({ put })] });
	}
	serving = replica;
	const counted = async () => JSON.parse((await replica.read(0, ["counter:hot"])).records[0]?.doc ?? "{}").count;
	return { add, counted, tell: (notice: Notice) => tell(notice), engine };
}

it("a record of a server that took over is not taken for the one remembered under the same version", async () => {
	const { add, counted, tell, engine } = await afterFailOver();
	await engine.start();
	tell({ partition: 0, queues: [], changed: [], gap: true });
	await add("counter:hot");
	expect(await counted()).toBe(101);
});

it("commit numbers that go back say so too", async () => {
	const { add, counted } = await afterFailOver();
	await add("counter:cold");
	await add("counter:hot");
	expect(await counted()).toBe(101);
});
