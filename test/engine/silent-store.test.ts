import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { StoreError } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

it("a caller is told when a store that was never heard does not answer", async () => {
	const clock = new VirtualClock();
	const store = new MemoryStore(1, clock.now);
	let asked = 0;
	store.read = async () => {
		// An engine that asked in a circle would never let the test see it.
		if (++asked > 1000) return new Promise(() => {});
		throw new StoreError("nobody there", { applied: "no" });
	};
	const engine = new Engine({ store, clock });
	let told: unknown;
	void engine
		.runner(0)
		.run({ op: "replay", executionId: "", actor: "" })
		.catch((error: unknown) => (told = error));
	await clock.advance(60_000);
	expect(told).toMatchObject({ code: "store_unavailable", retryable: true });
	expect(asked).toBeLessThan(200);
});

it("a caller is told at once when a store refuses for good", async () => {
	const clock = new VirtualClock();
	const store = new MemoryStore(1, clock.now);
	const engine = new Engine({ store, clock });
	await engine.start();
	store.read = () => Promise.reject(new StoreError("not for you", { applied: "no", passing: false }));
	const told = engine.runner(0).run({ op: "replay", executionId: `ex_${"0".repeat(32)}_0`, actor: "" });
	await expect(told).rejects.toMatchObject({ code: "store_unavailable" });
});
