import { expect, onTestFinished, test } from "vitest";
import { SseReader, type StreamEvent } from "../../src/client/sse-reader.ts";
import { FlowFabric } from "../../src/index.ts";
import { Relay } from "./relay.ts";
import { Stand, until } from "./stand.ts";

const KIB = 1024;

/** Reads a stream of frames until it ends or is told to stop. */
function listen(stand: Stand, path: string, headers: Record<string, string> = {}) {
	const controller = new AbortController();
	const events: StreamEvent[] = [];
	const reader = new SseReader((event) => events.push(event));
	const ended = (async () => {
		const response = await fetch(stand.server.address + path, {
			headers: { accept: "text/event-stream", ...headers },
			signal: controller.signal,
		});
		for await (const chunk of response.body ?? []) reader.push(Buffer.from(chunk));
	})().catch((error: unknown) => {
		if (!controller.signal.aborted) throw error;
	});
	return { events, ended, stop: () => controller.abort() };
}

const frameTexts = (events: readonly StreamEvent[]): string[] =>
	events.filter(({ type }) => type === "frame").map(({ data }) => (JSON.parse(data) as { text: string }).text);

const held = async (stand: Stand) => {
	const { id, fence } = await stand.held();
	const append = (...texts: string[]) =>
		stand.backend.leases.appendFrames(id, { fence, frames: texts.map((text) => ({ text })) });
	return { id, fence, append, tail: `/v1/executions/${id}/attempts/0/stream/tail` };
};

const inPool = async (stand: Stand, pool: string): Promise<number> => {
	const { text } = await stand.call("GET", "/metrics");
	return Number(new RegExp(`flowfabric_pool_waiting\\{pool="${pool}"\\} (\\d+)`).exec(text)?.[1]);
};

test("a tail as events: every frame with its id as it comes, then the close, then the end", async () => {
	const stand = await Stand.open();
	const { id, fence, append, tail } = await held(stand);
	await append("a");
	const stream = listen(stand, tail);
	await until(() => stream.events.length === 1);
	const { lastId } = await append("b", "c");
	await until(() => stream.events.length === 3);
	expect(stream.events.map(({ type }) => type)).toEqual(["frame", "frame", "frame"]);
	expect(stream.events.at(-1)?.id).toBe(lastId);
	expect(JSON.parse(stream.events[0]?.data ?? "")).toMatchObject({ text: "a", attempt: 0, epoch: fence.epoch });
	await stand.backend.leases.complete(id, { fence });
	await stream.ended;
	const { closedAt } = await stand.backend.streams.read(id, 0);
	expect(stream.events.at(-1)).toMatchObject({ type: "closed", id: undefined });
	expect(JSON.parse(stream.events.at(-1)?.data ?? "")).toEqual({ closedAt, closeReason: "completed" });
});

test("a reader that comes back goes on behind the last id it saw, whatever the address says", async () => {
	const stand = await Stand.open();
	const { id, fence, append, tail } = await held(stand);
	const { lastId } = await append("a", "b");
	await append("c");
	const again = listen(stand, `${tail}?after=start`, { "last-event-id": lastId });
	const behind = listen(stand, `${tail}?after=${lastId}`);
	await until(() => again.events.length === 1 && behind.events.length === 1);
	await append("d");
	await stand.backend.leases.complete(id, { fence });
	await Promise.all([again.ended, behind.ended]);
	expect([frameTexts(again.events), frameTexts(behind.events)]).toEqual([
		["c", "d"],
		["c", "d"],
	]);
});

test("a tail that cannot begin is refused with a status", async () => {
	const stand = await Stand.open();
	const { id, fence, tail } = await held(stand);
	const headers = { accept: "text/event-stream" };
	const refused = async (path: string, more: object = {}) => {
		const { status, json } = await stand.call("GET", path, { headers: { ...headers, ...more } });
		return [status, json.error.code, json.error.details.field];
	};
	expect(await refused(tail, { "last-event-id": "x" })).toEqual([400, "invalid_input", "after"]);
	expect(await refused(`${tail}?waitMs=5`)).toEqual([400, "invalid_input", "waitMs"]);
	expect(await refused(`${tail}?limit=5`)).toEqual([400, "invalid_input", "limit"]);
	expect(await refused(tail.replace(id, `ex_${"0".repeat(32)}_0`))).toEqual([404, "execution_not_found", undefined]);
	expect(await refused(tail.replace("attempts/0", "attempts/x"))).toEqual([400, "invalid_input", "attempt"]);
	await stand.backend.leases.complete(id, { fence });
	expect(await refused(tail.replace("attempts/0", "attempts/1"))).toEqual([404, "attempt_not_found", undefined]);
	expect(await inPool(stand, "stream_tails")).toBe(0);
});

test("range reads and long-polls share a pool; one more is refused at once, and others are served", async () => {
	const stand = await Stand.open({ pools: { stream_ops: 2 } });
	const { id, fence, append, tail } = await held(stand);
	const polls = [1, 2].map(() => stand.call("GET", `${tail}?waitMs=30000`));
	await until(async () => (await inPool(stand, "stream_ops")) === 2);
	for (const path of [`${tail}?waitMs=30000`, tail.replace("/tail", "")]) {
		const refused = await stand.call("GET", path);
		expect(refused).toMatchObject({
			status: 429,
			json: { error: { code: "too_many_requests", retryable: true, details: { pool: "stream_ops", max: 2 } } },
		});
		expect(refused.headers.get("retry-after")).toBeTruthy();
	}
	const events = listen(stand, tail);
	await append("a");
	for (const poll of polls) expect((await poll).json.frames).toMatchObject([{ text: "a" }]);
	await until(() => events.events.length === 1);
	expect((await stand.call("GET", tail.replace("/tail", ""))).status).toBe(200);
	await stand.backend.leases.complete(id, { fence });
	await events.ended;
});

test("tails as events have a pool of their own", async () => {
	const stand = await Stand.open({ pools: { stream_tails: 1 } });
	const { append, tail } = await held(stand);
	const first = listen(stand, tail);
	await until(async () => (await inPool(stand, "stream_tails")) === 1);
	expect(await stand.call("GET", tail, { headers: { accept: "text/event-stream" } })).toMatchObject({
		status: 429,
		json: { error: { details: { pool: "stream_tails", max: 1 } } },
	});
	await append("a");
	expect((await stand.call("GET", tail)).json.frames).toHaveLength(1);
	first.stop();
	await until(async () => (await inPool(stand, "stream_tails")) === 0);
});

test("a reader that stops reading holds up nobody, and is given everything when it goes on", async () => {
	const stand = await Stand.open();
	const { id, fence, append, tail } = await held(stand);
	const { socket } = stand.socket();
	const events: StreamEvent[] = [];
	const reader = new SseReader((event) => events.push(event));
	socket.removeAllListeners("data");
	socket.write(`GET ${tail} HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`);
	await until(async () => (await inPool(stand, "stream_tails")) === 1);
	socket.pause();
	const expected: string[] = [];
	const quick = listen(stand, tail);
	for (let n = 0; n < 40; n++) {
		const texts = Array.from({ length: 8 }, (_, k) => `${n}.${k} ${"x".repeat(60 * KIB)}`);
		expected.push(...texts);
		await append(...texts);
	}
	await stand.backend.leases.complete(id, { fence });
	await quick.ended;
	expect(frameTexts(quick.events).length).toBe(expected.length);
	// It is still there: the server holds back what it reads for it, not the reader's connection.
	expect(await inPool(stand, "stream_tails")).toBe(1);
	socket.on("data", (chunk) => reader.push(chunk));
	socket.resume();
	await until(() => events.at(-1)?.type === "closed");
	expect(frameTexts(events).map((text) => text.slice(0, 5))).toEqual(expected.map((text) => text.slice(0, 5)));
});

test("closing ends tails: long-polls with what there is, streams with a notice", async () => {
	const stand = await Stand.open();
	const { tail } = await held(stand);
	const poll = stand.call("GET", `${tail}?waitMs=30000`);
	const stream = listen(stand, tail);
	await until(async () => (await inPool(stand, "stream_ops")) === 1 && (await inPool(stand, "stream_tails")) === 1);
	await stand.server.close();
	expect(await poll).toMatchObject({ status: 200, json: { frames: [] } });
	await stream.ended;
	expect(stream.events.at(-1)).toMatchObject({ type: "close" });
	expect(JSON.parse(stream.events.at(-1)?.data ?? "")).toMatchObject({ code: "shutting_down", retryable: true });
});

test("a poll whose caller goes away ends", async () => {
	const stand = await Stand.open();
	const { tail } = await held(stand);
	const { socket } = stand.socket();
	socket.write(`GET ${tail}?waitMs=30000 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
	await until(async () => (await inPool(stand, "stream_ops")) === 1);
	socket.destroy();
	await until(async () => (await inPool(stand, "stream_ops")) === 0);
});

/** The lines of a stream as they come, until it is cut. */
function rawTail(stand: Stand, path: string, headers = "") {
	const { socket, heard } = stand.socket();
	socket.write(`GET ${path} HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n${headers}\r\n`);
	const body = () => heard().split("\r\n\r\n").slice(1).join("");
	return { body, cut: () => socket.destroy() };
}

for (const [what, before] of [
	["a stream that has frames", ["a", "b"]],
	["a stream that has none yet", []],
] as const) {
	test(`a reader from the end of ${what} that is cut off before its first frame misses nothing`, async () => {
		const stand = await Stand.open();
		const { id, fence, append, tail } = await held(stand);
		if (before.length > 0) await append(...before);
		const first = rawTail(stand, `${tail}?after=end`);
		await until(() => first.body().includes("\n\n"));
		// A browser takes the id of a message without data too, and shows nothing.
		const [, lastEventId] = /^: open\nid: (.+)\n\n$/.exec(first.body()) ?? [];
		first.cut();
		await until(async () => (await inPool(stand, "stream_tails")) === 0);
		await append("c");
		const again = listen(stand, `${tail}?after=end`, lastEventId ? { "last-event-id": lastEventId } : {});
		await until(async () => (await inPool(stand, "stream_tails")) === 1);
		await append("d");
		await stand.backend.leases.complete(id, { fence });
		await again.ended;
		expect(frameTexts(again.events)).toEqual(["c", "d"]);
	});

	test(`the client follows from the end of ${what} over a connection that is cut before its first frame`, async () => {
		const stand = await Stand.open();
		const { id, fence, append } = await held(stand);
		if (before.length > 0) await append(...before);
		const relay = await Relay.before(stand.server.address);
		const ff = FlowFabric.connect(relay.url);
		onTestFinished(() => ff.close());
		const seen: (string | undefined)[] = [];
		const following = (async () => {
			for await (const { frames } of ff.streams.follow(id, 0, { after: "end" }))
				seen.push(...frames.map(({ text }) => text));
		})();
		await until(async () => (await inPool(stand, "stream_tails")) === 1 && relay.heard.includes("\n\n"));
		relay.cut();
		await until(async () => (await inPool(stand, "stream_tails")) === 0);
		await append("c");
		await until(() => seen.length > 0);
		await append("d");
		await stand.backend.leases.complete(id, { fence });
		await following;
		expect(seen).toEqual(["c", "d"]);
	});
}

test("a poll from the end that found nothing says where that was, so that the next one misses nothing", async () => {
	const stand = await Stand.open();
	const { append, tail } = await held(stand);
	const { lastId } = await append("a");
	const { json } = await stand.call("GET", `${tail}?after=end&waitMs=5`);
	expect(json).toEqual({ frames: [], after: lastId });
	await append("b");
	const next = await stand.call("GET", `${tail}?after=${json.after}`);
	expect(next.json.frames).toMatchObject([{ text: "b" }]);
	expect(next.json).not.toHaveProperty("after");
});
