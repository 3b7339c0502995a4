import { afterEach, describe, expect, it } from "vitest";
import type { EngineOptions } from "../../src/engine/engine.ts";
import type { Fault } from "../../src/engine/fault-log.ts";
import { KEYRING_KEY } from "../../src/kernel/records/keyring.ts";
import { StoreError, unitOf } from "../../src/store/port.ts";
import { EngineGroup, type Member } from "./engine-group.ts";
import { secretOf, signed, startGroup, subject, worthOf } from "./token-stage.ts";

const DAY = 86_400_000;

let group: EngineGroup;

afterEach(() => group.close());

async function start(options: Partial<EngineOptions> = {}): Promise<Member> {
	const started = await startGroup(options);
	group = started.group;
	return started.one;
}

const ringOf = async () => JSON.parse((await group.store.read(0, [KEYRING_KEY])).records[0]?.doc ?? "");

/** Writes a document as somebody beside the engines would. */
async function store(doc: string): Promise<void> {
	const { time, records } = await group.store.read(0, [KEYRING_KEY]);
	const unit = unitOf({ expected: [[KEYRING_KEY, records[0]?.version ?? 0]], put: [{ key: KEYRING_KEY, doc }] });
	const { results } = await group.store.commit(0, { engine: "somebody", number: 1, at: time, units: [unit] });
	expect(results).toMatchObject([{ ok: true }]);
}

describe("several engines on a store", () => {
	it("have one ring, whoever made it", async () => {
		const one = await start({ waitpointSecretHex: secretOf("a") });
		const two = await group.start("two");
		expect(await worthOf(two, await signed(one))).toBe("valid");
		expect(await signed(two)).toBe(await signed(one));
	});

	it("that start at the same moment make one ring", async () => {
		group = new EngineGroup(2);
		const all = await Promise.all(["a", "b", "c"].map((name) => group.start(name)));
		const tokens = await Promise.all(all.map((each) => signed(each)));
		expect(new Set(tokens).size).toBe(1);
	});

	it("see a rotation of one at once: all sign with the new key", async () => {
		const one = await start();
		const two = await group.start("two");
		const old = await signed(two);
		await one.engine.keyring.rotate({});
		expect((await two.engine.tokens.sign(subject)).kid).toBe("k2");
		expect(await worthOf(two, old)).toBe("valid");
	});

	it("take what a new key signed even if they were not told of it: the kid makes them read", async () => {
		const one = await start();
		const two = await group.start("two");
		await signed(two);
		deafen(one);
		// One after the other, without a second between them.
		for (let n = 0; n < 5; n++) {
			await one.engine.keyring.rotate({});
			expect(await worthOf(two, await signed(one))).toBe("valid");
		}
		expect((await two.engine.tokens.sign(subject)).kid).toBe("k6");
	});

	it("hear of it later if they were told nothing and met no new kid", async () => {
		const one = await start({ waitpointGraceMs: 60_000 });
		const two = await group.start("two");
		const old = await signed(two);
		deafen(one);
		await one.engine.keyring.rotate({});
		expect((await two.engine.tokens.sign(subject)).kid).toBe("k1");
		await group.clock.advance(10_000);
		expect((await two.engine.tokens.sign(subject)).kid).toBe("k2");
		await group.clock.advance(50_000);
		expect(await worthOf(two, old)).toBe("expired");
	});

	it("read again after notices may have been missed", async () => {
		const one = await start();
		const two = await group.start("two");
		await signed(two);
		deafen(one);
		await one.engine.keyring.rotate({});
		const before = two.calls["read"] ?? 0;
		two.engine.keyring.doubt();
		expect((await two.engine.tokens.sign(subject)).kid).toBe("k2");
		expect((two.calls["read"] ?? 0) - before).toBe(1);
	});

	it("lose no valid token while keys rotate under them", async () => {
		const one = await start();
		const two = await group.start("two");
		let rotating = true;
		const verdicts = new Map<string, number>();
		const verify = async (signer: Member, verifier: Member) => {
			while (rotating) {
				const worth = await worthOf(verifier, await signed(signer));
				verdicts.set(worth, (verdicts.get(worth) ?? 0) + 1);
				await new Promise((resolve) => setImmediate(resolve));
			}
		};
		// Somebody invents kids all the while.
		const invent = async () => {
			for (let n = 0; rotating; n++) {
				expect(await worthOf(two, `x${n}.${"A".repeat(43)}`)).toBe("invalid");
				await new Promise((resolve) => setImmediate(resolve));
			}
		};
		const work = [verify(one, two), verify(two, one), verify(one, one), verify(two, two), invent()];
		for (let n = 0; n < 100; n++) await (n % 2 ? one : two).engine.keyring.rotate({});
		rotating = false;
		await Promise.all(work);
		expect([...verdicts.keys()]).toEqual(["valid"]);
		expect(verdicts.get("valid")).toBeGreaterThan(100);
		expect((await ringOf()).current).toBe("k101");
	});

	it("rotate at the same moment, and each rotation counts", async () => {
		const one = await start();
		const two = await group.start("two");
		const first = await signed(one);
		const rotated = await Promise.all([one.engine.keyring.rotate({}), two.engine.keyring.rotate({})]);
		expect(rotated.map(({ kid }) => kid).sort()).toEqual(["k2", "k3"]);
		expect(rotated.map(({ previousKid }) => previousKid).sort()).toEqual(["k1", "k2"]);
		expect([await worthOf(one, first), await worthOf(two, first)]).toEqual(["valid", "valid"]);
		expect(await signed(one)).toBe(await signed(two));
	});

	/** What this one says to the others is lost. */
	function deafen({ engine }: Member): void {
		(engine.store as { say?: unknown }).say = () => {};
	}
});

it("one rotation at a time in a process", async () => {
	const one = await start();
	const first = one.engine.keyring.rotate({});
	await expect(one.engine.keyring.rotate({})).rejects.toMatchObject({
		code: "too_many_requests",
		details: { pool: "admin_rotate", max: 1 },
	});
	expect(await first).toMatchObject({ kid: "k2" });
	expect(await one.engine.keyring.rotate({})).toMatchObject({ kid: "k3" });
});

it("kids that nobody knows make an engine read once a second, and those that come together read together", async () => {
	const one = await start();
	await signed(one);
	const reads = () => one.calls["read"] ?? 0;
	const forge = (n: number) => worthOf(one, `f${n}.${"A".repeat(43)}`);
	const before = reads();
	await Promise.all(Array.from({ length: 100 }, (_, n) => forge(n)));
	expect(reads() - before).toBe(1);
	await group.clock.advance(999);
	const after = reads();
	await forge(101);
	expect(reads() - after).toBe(0);
	await group.clock.advance(1);
	const later = reads();
	await forge(102);
	await forge(103);
	expect(reads() - later).toBe(1);
});

describe("an engine that starts", () => {
	it("keeps the ring it finds, and warns if it was given another secret", async () => {
		const faults: Fault[] = [];
		const one = await start({ waitpointSecretHex: secretOf("a") });
		const token = await signed(one);
		const options = { onFault: (fault: Fault) => faults.push(fault) };
		await group.start("same", { ...options, waitpointSecretHex: secretOf("A") });
		await group.start("none", options);
		expect(faults).toEqual([]);
		const other = await group.start("other", { ...options, waitpointSecretHex: secretOf("b") });
		expect(await signed(other)).toBe(token);
		expect(faults.map(({ about, subjects }) => [about, subjects])).toEqual([
			["the given waitpoint secret differs from the stored one; the stored one is used", ["k1"]],
		]);
		expect(JSON.stringify(faults)).not.toMatch(/aaaa|bbbb/);
	});

	it("repairs a ring whose current key has no secret, with the one it was given", async () => {
		const one = await start();
		const old = await signed(one);
		const ring = await ringOf();
		await store(JSON.stringify({ ...ring, current: "k2", minted: 2, keys: [...ring.keys, { kid: "k2" }] }));
		const faults: string[] = [];
		const two = await group.start("two", {
			waitpointSecretHex: secretOf("c"),
			onFault: ({ about }) => faults.push(about),
		});
		expect((await ringOf()).keys.at(-1)).toMatchObject({ kid: "k2", secretHex: secretOf("c") });
		expect(faults).toEqual(["the keyring was incomplete and has been repaired"]);
		expect([await worthOf(two, old), await worthOf(two, await signed(two))]).toEqual(["valid", "valid"]);
	});

	it("makes a new ring in place of one that cannot be read", async () => {
		await start();
		await store('{"keys": [');
		const two = await group.start("two");
		expect(await worthOf(two, await signed(two))).toBe("valid");
		expect((await ringOf()).keys).toHaveLength(1);
	});

	it("starts without a ring if the store takes none, and makes one when it is needed", async () => {
		group = new EngineGroup(1);
		const faults: string[] = [];
		const { commit } = group.store;
		group.store.commit = () => Promise.reject(new StoreError("full", { applied: "no", passing: false }));
		const one = await group.start("one", { onFault: ({ about }) => faults.push(about) });
		expect(faults).toContain("the keyring could not be read");
		await expect(signed(one)).rejects.toMatchObject({ code: "store_unavailable" });
		group.store.commit = commit;
		expect(await worthOf(one, await signed(one))).toBe("valid");
	});
});

it("keys go by themselves, seven days after their grace", async () => {
	const one = await start({ waitpointGraceMs: 1000, presence: { aloneMs: DAY } });
	const old = await signed(one);
	await one.engine.keyring.rotate({});
	await group.clock.advance(1000 + 7 * DAY - 1);
	expect((await ringOf()).keys).toHaveLength(2);
	expect(await worthOf(one, old)).toBe("expired");
	await group.clock.advance(1);
	expect((await ringOf()).keys).toHaveLength(1);
	await group.clock.advance(10_000);
	expect(await worthOf(one, old)).toBe("invalid");
});
