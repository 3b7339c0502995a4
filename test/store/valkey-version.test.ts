import { expect, it, onTestFinished } from "vitest";
import { openValkeyStore } from "../../src/store/valkey/open.ts";
import { parseInfo } from "../../src/store/valkey/server-info.ts";
import { versionIn } from "../../src/store/valkey/server-version.ts";
import { format } from "../conformance/stores.ts";
import { type Answer, startFakeValkey } from "../servers/fake-valkey.ts";

/** Time that passes only by waiting. */
function patience() {
	const pauses: number[] = [];
	let time = 0;
	return {
		pauses,
		connectMs: 10_000,
		now: () => time,
		pause: async (ms: number) => {
			pauses.push(ms);
			time += ms;
		},
	};
}

async function refusalOf(info: () => Answer, waiting = patience()) {
	const server = await startFakeValkey(([name]) => (name?.toUpperCase() === "INFO" ? info() : "OK"));
	onTestFinished(() => server.stop());
	const error = await openValkeyStore(server.url, { format }, waiting).then(
		() => new Error("was opened"),
		(thrown: unknown) => thrown as Error,
	);
	return { error, pauses: waiting.pauses };
}

it("prefers Valkey's own version to the one of Redis it behaves like", () => {
	const info = "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n";
	expect(versionIn(parseInfo(info))).toMatchObject({ product: "valkey", text: "8.0.1" });
	expect(versionIn(parseInfo("redis_version:7.0.15\r\n"))).toMatchObject({ product: "redis", numbers: [7, 0, 15] });
	expect(versionIn(parseInfo("redis_version:seven\r\n"))).toBeUndefined();
});

it("waits a minute for a server that is too old, less and less often, and then tells both versions", async () => {
	const { error, pauses } = await refusalOf(() => "redis_version:6.2.14\r\n");
	expect(error).toMatchObject({
		code: "store_version_too_low",
		details: { detected: "redis 6.2.14", required: "valkey 7.2 or redis 7.0" },
	});
	expect(pauses.slice(0, 6)).toEqual([200, 400, 800, 1600, 3200, 5000]);
	const waited = pauses.reduce((sum, ms) => sum + ms, 0);
	expect(waited).toBeGreaterThan(54_000);
	expect(waited).toBeLessThanOrEqual(60_000);
});

it("a Valkey that is too old is refused though the Redis it behaves like would do", async () => {
	const { error } = await refusalOf(() => "redis_version:7.2.4\r\nvalkey_version:7.1.0\r\n");
	expect(error).toMatchObject({ code: "store_version_too_low", details: { detected: "valkey 7.1.0" } });
});

it("a version that is missing or cannot be read is waited for too", async () => {
	for (const info of ["loading:0\r\n", "redis_version:next\r\n"]) {
		const { error, pauses } = await refusalOf(() => info);
		expect(error).toMatchObject({ code: "store_version_too_low", details: { detected: "unknown" } });
		expect(pauses.length).toBeGreaterThan(5);
	}
});

it("a server that is upgraded meanwhile is taken", async () => {
	const waiting = patience();
	// It is a fake one all the same: the next step, the settings, fails.
	const { error } = await refusalOf(
		() => (waiting.pauses.length < 4 ? "redis_version:6.2.14\r\n" : "redis_version:7.0.0\r\n"),
		waiting,
	);
	expect(error).not.toMatchObject({ code: "store_version_too_low" });
	expect(waiting.pauses).toEqual([200, 400, 800, 1600]);
});

it("a server that does not let us in is refused at once", async () => {
	const { error, pauses } = await refusalOf(() => new Error("NOAUTH Authentication required."));
	expect(error).toMatchObject({ code: "store_unavailable" });
	expect(error.message).toMatch(/denies access to this user.*NOAUTH/);
	expect(pauses).toEqual([]);
});

it("a connection lost on the way says so, not what the driver calls it", async () => {
	const toDriver = ["redis_version:7.0.15\r\n"];
	const { error } = await refusalOf(() => toDriver.pop());
	expect(error).toMatchObject({
		code: "store_unavailable",
		message: expect.stringMatching(/^valkey:.*: the connection was lost$/),
	});
});
