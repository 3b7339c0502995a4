import { expect, test, vi } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** Every look at it finds that rules have taken their time. */
class SlowClock extends VirtualClock {
	isSlow = false;
	#passed = 0;

	override monotonic(): number {
		if (this.isSlow) this.#passed += 15;
		return super.monotonic() + this.#passed;
	}
}

test.each([
	["take no time go out together", false, 10],
	["take long go out a few at a time", true, 2],
])("commands whose rules %s", async (_, isSlow, most) => {
	const clock = new SlowClock();
	const store = new MemoryStore(1, clock.now);
	const engine = new Engine({ store, clock });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	await backend.executions.create({ kind: "first" });
	const commit = vi.spyOn(store, "commit");
	clock.isSlow = isSlow;
	await Promise.all(Array.from({ length: 10 }, () => backend.executions.create({ kind: "job" })));
	clock.isSlow = false;
	const units = commit.mock.calls.map(([, batch]) => batch.units.length);
	expect(Math.max(...units)).toBe(most);
	expect(units.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(10);
	await backend.close();
});
