// Drawn signs, 16 x 16: strokes, and shapes that are filled.

interface Drawing {
  readonly strokes?: string
  readonly fill?: string
}

const drawings = {
  play: { fill: 'M4.5 2.8v10.4L13 8z' },
  pause: { fill: 'M4 3h3v10H4zM9 3h3v10H9z' },
  stop: { fill: 'M3.5 3.5h9v9h-9z' },
  resume: { fill: 'M3 3h2.2v10H3zM6.8 2.8v10.4L14 8z' },
  check: { strokes: 'm3.5 8.5 3 3 6-7' },
  cross: { strokes: 'm4.5 4.5 7 7m0-7-7 7' },
  close: { strokes: 'm4.5 4.5 7 7m0-7-7 7' },
  dash: { strokes: 'M5 8h6' },
  plus: { strokes: 'M8 3.5v9M3.5 8h9' },
  warning: { strokes: 'M8 2.5 14 13H2zM8 6.5v3m0 1.6v.4' },
  sun: { strokes: 'M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0M8 1.5V3m0 10v1.5M1.5 8H3m10 0h1.5M3.4 3.4l1 1m7.2 7.2 1 1m0-9.2-1 1m-7.2 7.2-1 1' },
  moon: { strokes: 'M13 9.7A5.5 5.5 0 0 1 6.3 3 5.5 5.5 0 1 0 13 9.7z' },
  system: { strokes: 'M2 3.5h12v7.5H2zM6 13.5h4M8 11v2.5' },
  run: { strokes: 'M2 12.5 6 8l2.5 2.5L14 4m-3.5 0H14v3.5' },
  table: { strokes: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M2.5 9.5h11M7 3.5v9' },
  chart: { strokes: 'M2.5 2.5v11h11M5 10l3-3.5 2 2L13.5 5' },
  home: { strokes: 'M2.5 7.5 8 2.8l5.5 4.7M4 6.5v6.7h8V6.5M6.7 13.2V9.5h2.6v3.7' },
  model: { strokes: 'M8 2 13.5 5v6L8 14 2.5 11V5zM2.5 5 8 8l5.5-3M8 8v6' },
  data: { strokes: 'M3 4c0-1 2.2-1.8 5-1.8s5 .8 5 1.8-2.2 1.8-5 1.8S3 5 3 4zM3 4v8c0 1 2.2 1.8 5 1.8s5-.8 5-1.8V4M3 8c0 1 2.2 1.8 5 1.8s5-.8 5-1.8' },
  settings: { strokes: 'M2.5 4.5h6m3 0h2M2.5 11.5h2m3 0h6M11.5 4.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM7.5 11.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0z' },
  folder: { strokes: 'M2 4.2h4.2l1.3 1.6H14v7H2z' },
  file: { strokes: 'M4 2h5l3 3v9H4zM9 2v3h3' },
  download: { strokes: 'M8 2.5v7.5m-3-3 3 3 3-3M3 13h10' },
  search: { strokes: 'M11 7a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM10 10l3.5 3.5' },
  reward: { strokes: 'M8 2.2l1.7 3.6 3.9.5-2.9 2.7.8 3.9L8 11l-3.5 1.9.8-3.9-2.9-2.7 3.9-.5z' },
  compose: { strokes: 'M3 3.5h10M3 8h6M3 12.5h4M11 9.5v5M8.5 12h5' },
  compare: { strokes: 'M3 2.5v11M13 2.5v11M5 6h6m0 0L9 4m2 2L9 8M11 11H5m0 0 2-2m-2 2 2 2' },
  rollouts: { strokes: 'M2.5 3.5h11M2.5 6.5h7M2.5 9.5h9M2.5 12.5h5' },
  chat: { strokes: 'M2.5 3h11v7.5H7L4 13v-2.5H2.5z' },
  export: { strokes: 'M8 10V2.5M5 5.2l3-2.7 3 2.7M3 8.5V13h10V8.5' },
  open: { strokes: 'M6 10 13.5 2.5M9 2.5h4.5V7M12 9.5v4H2.5V4h4' },
  remove: { strokes: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9M7 7v4m2-4v4' },
} as const satisfies Record<string, Drawing>

export type IconName = keyof typeof drawings

/** Path data of a sign; undefined where it has no such part. */
export function drawingOf(name: IconName): Drawing {
  return drawings[name]
}
