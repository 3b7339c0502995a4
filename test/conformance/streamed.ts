import type { AppendedFrames, AppendFramesRequest, FramePage, FrameView } from "../../src/index.ts";
import type { Held, Scene } from "./scene.ts";

/** A frame as a worker gives it. */
export type GivenFrame = AppendFramesRequest["frames"][number];

/** Appends to the stream of held work; a text stands for a durable frame of it. */
export const append = (
	scene: Scene,
	{ id, fence }: Pick<Held, "id" | "fence">,
	...frames: (string | GivenFrame)[]
): Promise<AppendedFrames> =>
	scene.backend.leases.appendFrames(id, {
		fence,
		frames: frames.map((frame) => (typeof frame === "string" ? { text: frame } : frame)),
	});

/** The whole stream, page after page. */
export async function framesOf(scene: Scene, id: string, attempt = 0): Promise<FrameView[]> {
	const frames: FrameView[] = [];
	let from: { from?: string } | undefined = {};
	while (from) {
		const page: FramePage = await scene.backend.streams.read(id, attempt, { limit: 10_000, ...from });
		for (const frame of page.frames) frames.push(frame);
		from = page.nextFrom === undefined ? undefined : { from: page.nextFrom };
	}
	return frames;
}

export const texts = (frames: readonly FrameView[]): (string | undefined)[] => frames.map(({ text }) => text);

export const textsOf = async (scene: Scene, id: string, attempt = 0) => texts(await framesOf(scene, id, attempt));

/** Appends that frames came with: what was appended together has the number before the dash in common. */
export const appendsOf = (frames: readonly FrameView[]): number =>
	new Set(frames.map(({ id }) => id.slice(0, id.indexOf("-")))).size;

/** Every line of a backup that tells of one execution's parts or bytes. */
export async function keptOf(scene: Scene, id: string): Promise<string[]> {
	const lines: string[] = [];
	for await (const line of scene.backend.admin.backup()) if (line.includes(`"${id}/`)) lines.push(line);
	return lines;
}
