import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Stage } from "../cli/stage.ts";
import { Relay } from "../server/relay.ts";
import { until } from "../server/stand.ts";
import { hasChromium, startChromium } from "../servers/chromium.ts";
import { Program } from "./processes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Stands in the way until it is opened. */
function gate() {
	let open = () => {};
	const opened = new Promise<void>((resolve) => (open = resolve));
	return { opened, open };
}

/** Shows frames, and when a connection stands, as the only text of a page. */
const FOLLOWER = `
	document.body.textContent = "";
	const source = new EventSource("ADDRESS");
	source.addEventListener("open", () => document.body.append("(open)"));
	source.addEventListener("frame", ({ data }) => document.body.append(JSON.parse(data).text));
	source.addEventListener("closed", () => {
		source.close();
		document.body.append("(closed)");
	});
`;

describe.skipIf(!hasChromium())("in a browser", () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await startChromium();
	});
	afterAll(() => browser?.close());

	async function openPage(url: string): Promise<Page> {
		const page = await browser.newPage();
		onTestFinished(() => page.close());
		await page.goto(url);
		return page;
	}

	/** A server, what passes on what it says, and the example between that and the browser. */
	async function live() {
		const stage = await Stage.open({ FF_CORS_ORIGINS: "*" });
		onTestFinished(() => stage.close());
		const relay = await Relay.before(stage.url);
		const program = new Program(process.execPath, ["examples/live-page/main.mjs"], {
			cwd: root,
			env: { FF_URL: relay.url, PORT: "0" },
		});
		onTestFinished(() => void program.stop());
		const [url] = await program.says(/http:\/\/127\.0\.0\.1:\d+/);
		return { stage, relay, url };
	}

	const answerOf = (page: Page) => page.locator("#answer").textContent();
	const shows = (page: Page, state: string) => page.locator("#status", { hasText: state }).waitFor();

	async function saidBy(stage: Stage, id: string, attempt = 0): Promise<string> {
		const { frames } = await stage.ff.streams.read(id, attempt, { limit: 10_000 });
		return frames.map(({ text }) => text).join("");
	}

	test("examples/live-page asks, and shows the answer as text, whatever it says", async () => {
		const { stage, url } = await live();
		const page = await openPage(url);
		const hostile = `<script>document.title = "taken"</script><img src=x onerror="document.title = 'taken'">`;
		await page.getByLabel("Question").fill(hostile);
		await page.getByRole("button", { name: "Ask" }).click();
		await shows(page, "completed");
		const [, id = ""] = /#(ex_\w+)$/.exec(page.url()) ?? [];
		const answer = await answerOf(page);
		expect(answer).toBe(await saidBy(stage, id));
		expect(answer?.startsWith(`You asked: ${hostile}\n\nA stream is`)).toBe(true);
		expect(await page.title()).toBe("Tokens as they come");
		expect(await page.locator("#answer *").count()).toBe(0);
		// Loaded again it shows the same, from the start.
		await page.reload();
		await shows(page, "completed");
		expect(await answerOf(page)).toBe(answer);
	});

	test("the page shows tokens as they come, each once and none lost when the connection breaks", async () => {
		const { stage, relay, url } = await live();
		const gates = [gate(), gate(), gate()];
		const worker = stage.ff.worker({ lanes: ["story"], handleSignals: false });
		worker.handle("story", async ({ stream }) => {
			for (const word of ["Once", " upon", " a", " time"]) await stream.write(word);
			await gates[0]?.opened;
			// Nobody listens now.
			for (const word of [" there", " was", " a", " fox"]) await stream.write(word);
			await stream.flush();
			gates[1]?.open();
			await gates[2]?.opened;
			await stream.write(".");
		});
		await worker.start();
		const { id } = await stage.ff.submit("story", {}, { lane: "story" });
		const page = await openPage(url);
		const seen: (string | undefined)[] = [];
		page.on("request", async (request) => {
			if (request.url().includes(`/runs/${id}/0?`)) seen.push((await request.allHeaders())["last-event-id"]);
		});
		await page.goto(`${url}#${id}`);
		await until(async () => (await answerOf(page)) === "Once upon a time");
		relay.cut();
		await shows(page, "coming back");
		gates[0]?.open();
		await gates[1]?.opened;
		await until(async () => (await answerOf(page)) === "Once upon a time there was a fox");
		gates[2]?.open();
		await shows(page, "completed");
		expect(await answerOf(page)).toBe("Once upon a time there was a fox.");
		expect(seen).toEqual([undefined, expect.stringMatching(/^\d+-\d+$/)]);
	});

	test("the page shows the attempt that is alive, and nothing of the one before", async () => {
		const { stage, url } = await live();
		const worker = stage.ff.worker({ lanes: ["drafts"], handleSignals: false });
		worker.handle("draft", async (ctx) => {
			await ctx.stream.write(`draft ${ctx.attempt.index}`);
			if (ctx.attempt.index === 0) throw new Error("not good enough");
		});
		await worker.start();
		const retry = { maxRetries: 1, backoff: { type: "fixed", delayMs: 0 } } as const;
		const { id } = await stage.ff.submit("draft", {}, { lane: "drafts", policy: { retry } });
		const page = await openPage(`${url}#${id}`);
		await shows(page, "completed");
		expect(await answerOf(page)).toBe("draft 1");
		const unknown = await openPage(`${url}#ex_${"0".repeat(32)}_0`);
		await shows(unknown, "there is no such run");
	});

	test("a page of another origin follows from the end, and misses nothing when it is cut off before the first frame", async () => {
		const { stage, relay, url } = await live();
		const { leases } = stage.ff.backend;
		const { id } = await stage.ff.submit("job", {}, { lane: "by hand" });
		const [claimed] = await leases.claim({ workerId: "w", instanceId: "w", lanes: ["by hand"] });
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
		const append = (text: string) => leases.appendFrames(id, { fence, frames: [{ text }] });
		await append("earlier");
		const page = await openPage(url);
		const address = `${relay.url}/v1/executions/${id}/attempts/0/stream/tail?after=end`;
		await page.addScriptTag({ content: FOLLOWER.replace("ADDRESS", address) });
		const body = page.locator("body");
		await until(async () => (await body.textContent()) === "(open)" && relay.heard.includes("id: 0-0"));
		relay.cut();
		await append("meanwhile");
		await until(async () => (await body.textContent()) === "(open)(open)meanwhile");
		await append(", and on");
		await leases.complete(id, { fence });
		await until(async () => (await body.textContent())?.endsWith("(closed)"));
		expect(await body.textContent()).toBe("(open)(open)meanwhile, and on(closed)");
	});
});
