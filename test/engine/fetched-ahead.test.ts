import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import type { Batch } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const who = { workerId: "w", instanceId: "w-1", max: 8 };

/** Tells what it was asked for. */
class TellingStore extends MemoryStore {
	asked: string[] = [];

	override read(partition: number, keys: readonly string[]) {
		this.asked.push(`read ${keys.length}`);
		return super.read(partition, keys);
	}

	override commit(partition: number, batch: Batch) {
		this.asked.push("commit");
		return super.commit(partition, batch);
	}
}

it("what the next claims will want is fetched while a commit is on its way", async () => {
	const clock = new VirtualClock();
	const store = new TellingStore(1, clock.now);
	const backendOf = (engine: Engine) => new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	const before = new Engine({ store, clock });
	await before.start();
	await backendOf(before).executions.createMany(Array.from({ length: 100 }, () => ({ kind: "job" })));

	const engine = new Engine({ store, clock });
	await engine.start();
	const { leases } = backendOf(engine);
	await leases.claim(who);
	for (let n = 0; n < 11; n++) {
		store.asked = [];
		expect(await leases.claim(who)).toHaveLength(8);
		// Whatever is read goes out behind the commit: no claim has to wait for it.
		expect(store.asked[0]).toBe("commit");
	}
	await Promise.all([before.close(), engine.close()]);
});
