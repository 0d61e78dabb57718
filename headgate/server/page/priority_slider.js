// The browser's own slider, which every keyboard and screen reader knows, and its number. It holds its value itself: the
// page is drawn anew whenever a number on it changes, and must not move a slider that somebody holds.
export default {
  template: `
    <div class="priority-slider">
      <input type="range" min="1" step="1" :max="most" :value="now" :disabled="disabled" :aria-label="label"
             @input="now = Number($event.target.value)" @change="$emit('chosen', now)">
      <span class="number" aria-hidden="true">{{ now }}</span>
    </div>
  `,
  props: { label: String, most: Number, value: Number, disabled: Boolean },
  data() {
    return { now: this.value };
  },
  methods: {
    show(value) {
      this.now = value;
    },
  },
};
